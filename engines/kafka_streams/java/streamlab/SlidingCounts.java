package streamlab;

/** Counts the bids of each auction or bidder in each sliding window (queries 5 and 12). */
final class SlidingCounts implements Step {
    private final long slideMs;
    private final long slides;

    SlidingCounts(long slideMs, long slides) {
        this.slideMs = slideMs;
        this.slides = slides;
    }

    @Override
    public void take(long[] t, State state, Output out) {
        long end = Step.after(t[0], slideMs);
        for (long window = 0; window < slides; window++, end += slideMs) {
            long[] count = state.get(end, t[3]);
            state.put(end, t[3], new long[] {count == null ? 1 : count[0] + 1});
        }
    }

    @Override
    public void due(long ts, long key, long[] count, State state, Output out) {
        out.emit(0, key, count[0]);
    }
}
