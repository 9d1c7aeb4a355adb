package streamlab;

import java.util.Arrays;
import java.util.Comparator;

/** Averages the last ten prices of a seller, after each step of time with a price (query 6). */
final class SellerAverages implements Step {
    private static final int LATEST = 10;

    private final long everyMs;

    SellerAverages(long everyMs) {
        this.everyMs = everyMs;
    }

    /** Auctions of a step are stored as `expires`, auction and price, one after the other. */
    @Override
    public void take(long[] t, State state, Output out) {
        long due = Step.after(t[0], everyMs);
        state.put(due, t[3], append(state.get(due, t[3]), t[5], t[4], t[6]));
    }

    @Override
    public void due(long ts, long seller, long[] step, State state, Output out) {
        long[][] closed = new long[step.length / 3][];
        Arrays.setAll(closed, each -> Arrays.copyOfRange(step, 3 * each, 3 * each + 3));
        Arrays.sort(closed, Comparator.<long[]>comparingLong(each -> each[0]).thenComparingLong(each -> each[1]));
        long[] prices = state.get(seller);
        for (long[] each : closed) {
            prices = append(prices, each[2]);
        }
        prices = Arrays.copyOfRange(prices, Math.max(0, prices.length - LATEST), prices.length);
        state.put(seller, prices);
        double average = (double) Arrays.stream(prices).sum() / prices.length;
        out.emit(0, seller, Double.doubleToRawLongBits(average));
    }

    private static long[] append(long[] before, long... values) {
        int length = before == null ? 0 : before.length;
        long[] all = before == null ? values : Arrays.copyOf(before, length + values.length);
        System.arraycopy(values, 0, all, length, values.length);
        return all;
    }
}
