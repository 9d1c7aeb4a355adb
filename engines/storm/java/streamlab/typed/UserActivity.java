package streamlab.typed;

import streamlab.Job;
import streamlab.queries.Actions;
import streamlab.queries.AdEvent;
import streamlab.queries.Output.Activity;
import streamlab.queries.Store;

/** Query II: adds each user's actions in a block to all earlier ones. */
final class UserActivity extends OpKeyedUnordered<Byte, Activity, UserActivity.State, Actions> {
    record State(Actions actions, boolean changed) {}

    /** Makes the user the key. */
    static final class ByUser extends OpStateless<AdEvent, Byte> {
        @Override
        void onItem(long key, AdEvent event, Out<Byte> out) {
            out.emit(event.user(), event.type());
        }
    }

    private final Store store;

    UserActivity(Job job) {
        store = Store.of(job);
    }

    @Override
    Actions take(long user, Byte type) {
        return Actions.of(type);
    }

    @Override
    Actions identity() {
        return Actions.NONE;
    }

    @Override
    Actions combine(Actions x, Actions y) {
        return x.plus(y);
    }

    @Override
    State initialState() {
        return new State(Actions.NONE, false);
    }

    @Override
    State updateState(State state, Actions block) {
        return new State(state.actions.plus(block), block.any());
    }

    @Override
    void onMarker(State state, long user, long ts, Out<Activity> out) {
        if (state.changed) {
            Activity activity = new Activity(ts, user, state.actions);
            store.put(activity);
            out.emit(user, activity);
        }
    }
}
