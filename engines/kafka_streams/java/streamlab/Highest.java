package streamlab;

import java.util.Arrays;

/** Emits the tuples of each window that have the highest value of a field (queries 5 and 7). */
final class Highest implements Step {
    private final long sizeMs;
    private final int width;
    private final int field;

    Highest(long sizeMs, int width, int field) {
        this.sizeMs = sizeMs;
        this.width = width;
        this.field = field;
    }

    @Override
    public void take(long[] t, State state, Output out) {
        long end = Step.after(t[0], sizeMs);
        long[] best = state.get(end, 0);
        long value = t[3 + field];
        if (best == null || value > best[field]) {
            state.put(end, 0, Arrays.copyOfRange(t, 3, 3 + width));
        } else if (value == best[field]) {
            long[] ties = Arrays.copyOf(best, best.length + width);
            System.arraycopy(t, 3, ties, best.length, width);
            state.put(end, 0, ties);
        }
    }

    @Override
    public void due(long ts, long key, long[] best, State state, Output out) {
        for (int begin = 0; begin < best.length; begin += width) {
            out.emit(0, Arrays.copyOfRange(best, begin, begin + width));
        }
    }
}
