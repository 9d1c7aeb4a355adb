package streamlab;

/**
 * Counts the bids, bidders and auctions of a day so far, over all prices and for each price range (queries 15 and 16).
 * Emits the counts after each bid. Bits describe a bid: bit 0 for any price, bit 1 + r for range r. Two earlier steps
 * find the bits that are new on that day for the bidder and for the auction.
 */
final class DayStatistics implements Step {
    private static final int PARTS = 4;

    private final long dayMs;
    private final boolean byChannel;

    DayStatistics(long dayMs, boolean byChannel) {
        this.dayMs = dayMs;
        this.byChannel = byChannel;
    }

    /** Takes bidder, channel, auction and bits. */
    static Step newBidders(long dayMs) {
        return (t, state, out) -> {
            long isNew = newBits(state, (t[4] << 32) + t[3], t[0] / dayMs, t[6]);
            out.emit((t[4] << 32) + t[5], t[5], t[4], t[6], isNew);
        };
    }

    /** Takes auction, channel, bits, and the bits that are new for the bidder. */
    static Step newAuctions(long dayMs) {
        return (t, state, out) -> {
            long isNew = newBits(state, (t[4] << 32) + t[3], t[0] / dayMs, t[5]);
            out.emit(t[4], t[4], t[5], t[6], isNew);
        };
    }

    private static long newBits(State state, long key, long day, long bits) {
        long[] seen = state.get(key);
        long before = seen == null || seen[0] != day ? 0 : seen[1];
        state.put(key, new long[] {day, before | bits});
        return bits & ~before;
    }

    /** Takes channel, bits, and the bits that are new for the bidder and for the auction. */
    @Override
    public void take(long[] t, State state, Output out) {
        long day = t[0] / dayMs;
        int first = byChannel ? 2 : 1;
        long[] counts = state.get(t[3]);
        if (counts == null || counts[first - 1] != day) {
            counts = new long[first + 3 * PARTS];
            counts[0] = t[3];
            counts[first - 1] = day;
        }
        for (int bit = 0; bit < PARTS; bit++) {
            for (int quantity = 0; quantity < 3; quantity++) {
                counts[first + quantity * PARTS + bit] += t[4 + quantity] >> bit & 1;
            }
        }
        state.put(t[3], counts);
        out.emit(0, counts);
    }
}
