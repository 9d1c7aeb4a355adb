package streamlab;

/**
 * Counts the bids of each session of a bidder (query 11). A session leaves at the first multiple of the gap that is later
 * than its last bid by more than the gap.
 */
final class Sessions implements Step {
    private final long gapMs;

    Sessions(long gapMs) {
        this.gapMs = gapMs;
    }

    /**
     * The state is the bids, and the times of the first and the last. A session that a later bid has closed is due at its
     * end. So is an entry without numbers, when the current session may be over. Ends of a bidder's sessions differ.
     */
    @Override
    public void take(long[] t, State state, Output out) {
        long ts = t[0];
        long bidder = t[3];
        long[] session = state.get(bidder);
        if (session == null) {
            state.put(end(ts), bidder, State.NONE);
        } else if (ts - session[2] > gapMs) {
            state.put(end(session[2]), bidder, session);
        } else {
            state.put(bidder, new long[] {session[0] + 1, session[1], ts});
            return;
        }
        state.put(bidder, new long[] {1, ts, ts});
    }

    @Override
    public void due(long ts, long bidder, long[] closed, State state, Output out) {
        if (closed.length > 0) {
            give(bidder, closed, out);
        }
        long[] session = state.get(bidder);
        if (end(session[2]) > ts) {
            state.put(end(session[2]), bidder, State.NONE);
            return;
        }
        state.remove(bidder);
        give(bidder, session, out);
    }

    private long end(long ts) {
        return Step.after(ts, gapMs) + gapMs;
    }

    private static void give(long bidder, long[] session, Output out) {
        out.emit(0, bidder, session[0], session[1], session[2]);
    }
}
