package streamlab.handcrafted;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/** What a bolt holds for each key of each block that has not ended. */
final class Blocks<A> {
    private final long length;
    private final Supplier<A> make;
    private final Map<Long, Map<Long, A>> open = new HashMap<>();

    Blocks(long length, Supplier<A> make) {
        this.length = length;
        this.make = make;
    }

    /** Returns what is held for a key in the block of a time. */
    A of(long ts, long key) {
        return endingAt((Math.floorDiv(ts, length) + 1) * length, key);
    }

    A endingAt(long end, long key) {
        return open.computeIfAbsent(end, any -> new HashMap<>())
                .computeIfAbsent(key, any -> make.get());
    }

    /** Removes a block, and returns what was held by key. */
    Map<Long, A> close(long end) {
        Map<Long, A> block = open.remove(end);
        return block == null ? Map.of() : block;
    }
}
