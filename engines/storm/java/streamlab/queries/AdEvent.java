package streamlab.queries;

import streamlab.Rows;

/** An event of the ads input; see workloads/inputs/ads/schema.py. */
public record AdEvent(long ts, int user, int page, int ad, byte type) {
    public static final byte VIEW = 0;
    public static final byte CLICK = 1;
    public static final byte PURCHASE = 2;

    static AdEvent of(Rows rows, int row) {
        return new AdEvent(
                rows.ts[row], rows.get(0, row), rows.get(1, row), rows.get(2, row), (byte) rows.get(3, row));
    }
}
