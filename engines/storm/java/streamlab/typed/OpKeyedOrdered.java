package streamlab.typed;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;

/**
 * Maps O(K, V) to O(K, W) with a state for each key, which sees the key's items in order. Functions return
 * the new state; they may change and return the old one.
 */
abstract class OpKeyedOrdered<V, W, S> implements Operator {
    abstract S initialState();

    abstract S onItem(S state, long key, V value, Out<W> out);

    S onMarker(S state, long key, long ts, Out<W> out) {
        return state;
    }

    /** Returns the order of a key's values, for a SORT before this operator; null without one. */
    Comparator<V> order() {
        return null;
    }

    @Override
    @SuppressWarnings("unchecked")
    public final Vertex start(Out<Object> untyped, boolean marks) {
        Out<W> out = (Out<W>) (Out<?>) untyped;
        Map<Long, S> states = new HashMap<>();
        Vertex vertex =
                new Vertex() {
                    @Override
                    public void item(long key, Object value) {
                        S state = states.get(key);
                        state = state == null ? initialState() : state;
                        states.put(key, onItem(state, key, (V) value, out));
                    }

                    @Override
                    public void marker(long ts) {
                        states.replaceAll((key, state) -> onMarker(state, key, ts, out));
                    }
                };
        return order() == null ? vertex : new Sort<>(order(), vertex);
    }
}
