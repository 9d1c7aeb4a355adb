package streamlab.typed;

import java.util.HashMap;
import java.util.Map;

/**
 * Maps U(K, V) to U(L, W) with a state for each key, which sees the aggregate of a whole block (the paper's
 * table 3). States and aggregates are values: functions return new ones, and never change one.
 */
abstract class OpKeyedUnordered<V, W, S, A> implements Operator {
    private static final class Entry<S, A> {
        A aggregate;
        S state;

        Entry(A aggregate, S state) {
            this.aggregate = aggregate;
            this.state = state;
        }
    }

    /** Returns the aggregate of one item; the paper's `in`. */
    abstract A take(long key, V value);

    abstract A identity();

    abstract A combine(A x, A y);

    abstract S initialState();

    abstract S updateState(S state, A aggregate);

    void onItem(S lastState, long key, V value, Out<W> out) {}

    void onMarker(S newState, long key, long ts, Out<W> out) {}

    @Override
    @SuppressWarnings("unchecked")
    public final Vertex start(Out<Object> untyped, boolean marks) {
        Out<W> out = (Out<W>) (Out<?>) untyped;
        return new Vertex() {
            private final Map<Long, Entry<S, A>> entries = new HashMap<>();
            /** The state with which new keys start. */
            private S startState = initialState();

            @Override
            public void item(long key, Object untypedValue) {
                V value = (V) untypedValue;
                Entry<S, A> entry =
                        entries.computeIfAbsent(key, any -> new Entry<>(identity(), startState));
                onItem(entry.state, key, value, out);
                entry.aggregate = combine(entry.aggregate, take(key, value));
            }

            @Override
            public void marker(long ts) {
                entries.forEach(
                        (key, entry) -> {
                            entry.state = updateState(entry.state, entry.aggregate);
                            entry.aggregate = identity();
                            onMarker(entry.state, key, ts, out);
                        });
                startState = updateState(startState, identity());
            }
        };
    }
}
