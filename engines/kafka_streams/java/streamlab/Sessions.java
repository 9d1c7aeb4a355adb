package streamlab;

/**
 * Counts the bids of each session of a bidder (query 11). A session is emitted at the first multiple of the gap that is
 * more than the gap later than its last bid.
 */
final class Sessions implements Step {
    private final long gapMs;

    Sessions(long gapMs) {
        this.gapMs = gapMs;
    }

    /**
     * The state is the number of bids, and the times of the first and the last bid. Two kinds of entries are due at the
     * end of a session: a session that a later bid has closed, and an empty entry for the current session. They do not
     * collide, because the ends of a bidder's sessions differ.
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
            emit(bidder, closed, out);
        }
        long[] session = state.get(bidder);
        if (end(session[2]) > ts) {
            state.put(end(session[2]), bidder, State.NONE);
            return;
        }
        state.remove(bidder);
        emit(bidder, session, out);
    }

    private long end(long ts) {
        return Step.after(ts, gapMs) + gapMs;
    }

    private static void emit(long bidder, long[] session, Output out) {
        out.emit(0, bidder, session[0], session[1], session[2]);
    }
}
