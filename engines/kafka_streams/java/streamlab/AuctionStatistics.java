package streamlab;

/** Emits statistics of the prices of an auction and day so far, after each bid (query 17). */
final class AuctionStatistics implements Step {
    private static final int LOWEST = 4;
    private static final int HIGHEST = 5;
    private static final int SUM = 6;

    private final long dayMs;

    AuctionStatistics(long dayMs) {
        this.dayMs = dayMs;
    }

    /** Returns the number of a price's range, from 0 to 2. */
    static int priceRange(long price) {
        return price < 10_000 ? 0 : price < 1_000_000 ? 1 : 2;
    }

    /** The state is the day, the bids of each range, the lowest and the highest price, and their sum. */
    @Override
    public void take(long[] t, State state, Output out) {
        long price = t[4];
        long day = t[0] / dayMs;
        long[] s = state.get(t[3]);
        if (s == null || s[0] != day) {
            s = new long[] {day, 0, 0, 0, price, price, 0};
        }
        s[1 + priceRange(price)]++;
        s[LOWEST] = Math.min(s[LOWEST], price);
        s[HIGHEST] = Math.max(s[HIGHEST], price);
        s[SUM] += price;
        state.put(t[3], s);
        long bids = s[1] + s[2] + s[3];
        long average = Double.doubleToRawLongBits((double) s[SUM] / bids);
        out.emit(0, t[3], day, bids, s[1], s[2], s[3], s[LOWEST], s[HIGHEST], average, s[SUM]);
    }
}
