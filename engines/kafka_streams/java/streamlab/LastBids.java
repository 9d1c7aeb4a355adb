package streamlab;

import java.util.Arrays;

/** Emits the last bid of each bidder and auction in each step of time (query 18). */
final class LastBids implements Step {
    private final long everyMs;

    LastBids(long everyMs) {
        this.everyMs = everyMs;
    }

    @Override
    public void take(long[] t, State state, Output out) {
        long key = (t[4] << 32) + t[3];
        state.put(Step.after(t[0], everyMs), key, Arrays.copyOfRange(t, 3, t.length));
    }

    @Override
    public void due(long ts, long key, long[] bid, State state, Output out) {
        out.emit(0, bid);
    }
}
