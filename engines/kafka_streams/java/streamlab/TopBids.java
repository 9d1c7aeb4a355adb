package streamlab;

import java.util.Arrays;

/**
 * Emits each bid that is among the ten highest of its auction so far, with its rank from 1 (query 19). Of equal prices,
 * the earlier bid ranks higher.
 */
final class TopBids implements Step {
    private static final int MOST = 10;

    /** The state is the prices in the order of their ranks. */
    @Override
    public void take(long[] t, State state, Output out) {
        long[] prices = state.get(t[3]);
        int count = prices == null ? 0 : prices.length;
        long price = t[5];
        if (count == MOST && price <= prices[MOST - 1]) {
            return;
        }
        int index = Math.min(count, MOST - 1);
        long[] ranked = prices == null ? new long[1] : Arrays.copyOf(prices, index + 1);
        for (; index > 0 && price > ranked[index - 1]; index--) {
            ranked[index] = ranked[index - 1];
        }
        ranked[index] = price;
        state.put(t[3], ranked);
        out.emit(0, t[3], index + 1, t[4], price, t[6], t[7]);
    }
}
