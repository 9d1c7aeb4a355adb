package streamlab.typed;

import streamlab.Job;
import streamlab.queries.Actions;
import streamlab.queries.AdEvent;
import streamlab.queries.Lookup;
import streamlab.queries.Output;

/** Query III: adds up the history of each location. */
final class LocationHistory
        extends OpKeyedUnordered<
                LocationHistory.Action, Output.LocationHistory, LocationHistory.State, LocationHistory.History> {
    record Action(long ts, byte type) {}

    record History(long events, Actions actions, long lastTs) {
        static final History NONE = new History(0, Actions.NONE, Long.MIN_VALUE);

        History plus(History other) {
            return new History(
                    events + other.events,
                    actions.plus(other.actions),
                    Math.max(lastTs, other.lastTs));
        }
    }

    record State(History history, boolean changed) {}

    /** Makes the user's location the key. */
    static final class Locate extends OpStateless<AdEvent, Action> {
        private final Lookup locations;

        Locate(Job job) {
            locations = Lookup.of(job);
        }

        @Override
        void onItem(long key, AdEvent event, Out<Action> out) {
            int location = locations.find(event.user());
            if (location != Lookup.NONE) {
                out.emit(location, new Action(event.ts(), event.type()));
            }
        }
    }

    @Override
    History take(long location, Action action) {
        return new History(1, Actions.of(action.type), action.ts);
    }

    @Override
    History identity() {
        return History.NONE;
    }

    @Override
    History combine(History x, History y) {
        return x.plus(y);
    }

    @Override
    State initialState() {
        return new State(History.NONE, false);
    }

    @Override
    State updateState(State state, History block) {
        return new State(state.history.plus(block), block.events > 0);
    }

    @Override
    void onMarker(State state, long location, long ts, Out<Output.LocationHistory> out) {
        if (state.changed) {
            History all = state.history;
            out.emit(
                    location,
                    new Output.LocationHistory(ts, location, all.events, all.actions, all.lastTs));
        }
    }
}
