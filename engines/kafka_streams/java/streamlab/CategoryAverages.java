package streamlab;

/** Averages the prices of a category so far, after each step of time with a price (query 4). */
final class CategoryAverages implements Step {
    private final long everyMs;

    CategoryAverages(long everyMs) {
        this.everyMs = everyMs;
    }

    @Override
    public void take(long[] t, State state, Output out) {
        long due = Step.after(t[0], everyMs);
        state.put(due, t[3], plus(state.get(due, t[3]), 1, t[4]));
    }

    @Override
    public void due(long ts, long category, long[] step, State state, Output out) {
        long[] total = plus(state.get(category), step[0], step[1]);
        state.put(category, total);
        out.emit(0, category, total[0], Double.doubleToRawLongBits((double) total[1] / total[0]));
    }

    private static long[] plus(long[] total, long count, long sum) {
        return total == null ? new long[] {count, sum} : new long[] {total[0] + count, total[1] + sum};
    }
}
