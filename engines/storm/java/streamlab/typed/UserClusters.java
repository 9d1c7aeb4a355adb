package streamlab.typed;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import streamlab.Job;
import streamlab.queries.Actions;
import streamlab.queries.AdEvent;
import streamlab.queries.KMeans;
import streamlab.queries.Lookup;
import streamlab.queries.Output.UserCluster;

/** Query VI: clusters the users of each location and period by their actions so far. */
final class UserClusters
        extends OpKeyedOrdered<UserClusters.User, UserCluster, List<Actions>> {
    record Action(long ts, int location, byte type) {}

    record History(int location, long lastTs, Actions actions) {
        static final History NONE = new History(Integer.MIN_VALUE, Long.MIN_VALUE, Actions.NONE);

        History plus(History other) {
            return new History(
                    Math.max(location, other.location),
                    Math.max(lastTs, other.lastTs),
                    actions.plus(other.actions));
        }
    }

    record User(long id, Actions actions) {}

    /** Makes the user the key, and looks up the location. */
    static final class Locate extends OpStateless<AdEvent, Action> {
        private final Lookup locations;

        Locate(Job job) {
            locations = Lookup.of(job);
        }

        @Override
        void onItem(long key, AdEvent event, Out<Action> out) {
            int location = locations.find(event.user());
            if (location != Lookup.NONE) {
                out.emit(event.user(), new Action(event.ts(), location, event.type()));
            }
        }
    }

    /** Adds up each user's history, and emits it at the end of a period with events of the user. */
    static final class Features extends OpKeyedUnordered<Action, User, History, History> {
        private final long periodMs;

        Features(Job job) {
            periodMs = job.time("query.period_ms");
        }

        @Override
        History take(long user, Action action) {
            return new History(action.location, action.ts, Actions.of(action.type));
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
        History initialState() {
            return History.NONE;
        }

        @Override
        History updateState(History state, History block) {
            return state.plus(block);
        }

        @Override
        void onMarker(History state, long user, long ts, Out<User> out) {
            if (ts % periodMs == 0 && state.lastTs >= ts - periodMs) {
                out.emit(state.location, new User(user, state.actions));
            }
        }
    }

    private final int k;
    private final int iterations;

    UserClusters(Job job) {
        k = job.number("query.clusters");
        iterations = job.number("query.iterations");
    }

    @Override
    Comparator<User> order() {
        return Comparator.comparingLong(User::id);
    }

    @Override
    List<Actions> initialState() {
        return new ArrayList<>();
    }

    @Override
    List<Actions> onItem(List<Actions> users, long location, User user, Out<UserCluster> out) {
        users.add(user.actions);
        return users;
    }

    @Override
    List<Actions> onMarker(List<Actions> users, long location, long ts, Out<UserCluster> out) {
        if (!users.isEmpty()) {
            KMeans.Found[] found = KMeans.cluster(users, k, iterations);
            for (int c = 0; c < found.length; c++) {
                out.emit(
                        location,
                        new UserCluster(ts, location, c, found[c].points(), found[c].meanQ8()));
            }
        }
        users.clear();
        return users;
    }
}
