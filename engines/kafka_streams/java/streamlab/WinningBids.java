package streamlab;

/**
 * Finds the winning bid of each auction (queries 4, 6 and 9): the first bid with the highest price, from the opening to
 * `expires`, inclusive. The winner is emitted at the end of the step of time in which the auction expires. Bids for
 * auctions that are not open are stored until the end of a step, because the event that opens the auction may follow at
 * the same time.
 */
final class WinningBids implements Step {
    static final int SELLER = 2;
    static final int CATEGORY = 3;
    static final int EXPIRES = 7;
    static final int PRICE = 11;
    private static final int IS_OPEN = 0;
    private static final int HAS_BID = 1;
    private static final int ITEM = 4;
    private static final int BIDDER = 5;
    private static final int OPENED = 6;
    private static final int INITIAL_BID = 8;
    private static final int RESERVE = 9;
    private static final int BID_TS = 10;

    /** Emits the winner of an auction from the auction's state. */
    @FunctionalInterface
    interface Winner {
        void emit(long auction, long[] state, Output out);
    }

    private final long everyMs;
    private final Winner winner;

    WinningBids(long everyMs, Winner winner) {
        this.everyMs = everyMs;
        this.winner = winner;
    }

    @Override
    public void take(long[] t, State state, Output out) {
        long ts = t[0];
        long key = t[4];
        long[] auction = state.get(key);
        boolean isNew = auction == null;
        if (isNew) {
            auction = new long[12];
        }
        if (t[3] == Queries.IS_AUCTION) {
            auction[IS_OPEN] = 1;
            auction[SELLER] = t[5];
            auction[INITIAL_BID] = t[6];
            auction[RESERVE] = t[7];
            auction[EXPIRES] = t[8];
            auction[CATEGORY] = t[9];
            auction[ITEM] = t[10];
            auction[OPENED] = ts;
            if (auction[BID_TS] != ts || t[8] < ts) {
                auction[HAS_BID] = 0;
            }
        } else {
            boolean wins = auction[HAS_BID] == 0 || t[6] > auction[PRICE];
            boolean isOpen = auction[IS_OPEN] == 1;
            if (isOpen ? ts <= auction[EXPIRES] && wins : wins || ts > auction[BID_TS]) {
                auction[HAS_BID] = 1;
                auction[BIDDER] = t[5];
                auction[BID_TS] = ts;
                auction[PRICE] = t[6];
            }
        }
        state.put(key, auction);
        if (isNew) {
            state.put(end(auction, ts), key, State.NONE);
        }
    }

    @Override
    public void due(long ts, long key, long[] value, State state, Output out) {
        long[] auction = state.get(key);
        long end = auction[IS_OPEN] == 1 ? end(auction, auction[OPENED]) : ts;
        if (end > ts) {
            state.put(end, key, State.NONE);
            return;
        }
        state.remove(key);
        if (auction[IS_OPEN] == 1 && auction[HAS_BID] == 1) {
            winner.emit(key, auction, out);
        }
    }

    private long end(long[] auction, long ts) {
        return Step.after(Math.max(ts, auction[EXPIRES]), everyMs);
    }

    /** Emits all fields of query 9. */
    static void emitAll(long auction, long[] w, Output out) {
        out.emit(
                0, auction, w[ITEM], w[INITIAL_BID], w[RESERVE], w[OPENED], w[EXPIRES], w[SELLER], w[CATEGORY],
                w[BIDDER], w[PRICE], w[BID_TS]);
    }
}
