package streamlab.handcrafted;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/** The values of a bolt for each key in each block that has not ended. */
final class Blocks<A> {
    private final long length;
    private final Supplier<A> make;
    private final Map<Long, Map<Long, A>> open = new HashMap<>();

    Blocks(long length, Supplier<A> make) {
        this.length = length;
        this.make = make;
    }

    /** Returns the value of a key in the block of a time, and makes it for a new key. */
    A valueAt(long ts, long key) {
        return valueIn((Math.floorDiv(ts, length) + 1) * length, key);
    }

    /** Returns the value of a key in the block that ends at a time, and makes it for a new key. */
    A valueIn(long end, long key) {
        return open.computeIfAbsent(end, any -> new HashMap<>())
                .computeIfAbsent(key, any -> make.get());
    }

    /** Removes the block that ends at a time, and returns its values by key. */
    Map<Long, A> close(long end) {
        Map<Long, A> block = open.remove(end);
        return block == null ? Map.of() : block;
    }
}
