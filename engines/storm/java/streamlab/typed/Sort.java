package streamlab.typed;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** SORT, fused with the vertex after it: sorts the pairs of each key between two markers. */
final class Sort<V> implements Vertex {
    private final Vertex next;
    private final Comparator<Pair> order;
    private final List<Pair> block = new ArrayList<>();

    @SuppressWarnings("unchecked")
    Sort(Comparator<V> values, Vertex next) {
        this.next = next;
        order =
                Comparator.comparingLong(Pair::key)
                        .thenComparing((a, b) -> values.compare((V) a.value(), (V) b.value()));
    }

    @Override
    public void item(long key, Object value) {
        block.add(new Pair(key, value));
    }

    @Override
    public void marker(long ts) {
        block.sort(order);
        for (Pair pair : block) {
            next.item(pair.key(), pair.value());
        }
        block.clear();
        next.marker(ts);
    }
}
