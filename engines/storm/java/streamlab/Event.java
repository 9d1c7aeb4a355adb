package streamlab;

import java.nio.ByteBuffer;

/**
 * The value of a Storm tuple: a record of Linear Road, a promise or the end of a phase. Immutable.
 *
 * @param kind DATA, PROMISE (later events of the producer have at least this order) or END
 * @param order the time since the first event of the input, plus the start of the phase
 * @param handedOverNs when the injector emitted the record
 */
record Event(
        byte kind,
        long order,
        long handedOverNs,
        byte type,
        int vehicle,
        short speed,
        short expressway,
        byte lane,
        byte direction,
        byte segment,
        int position) {
    static final byte DATA = 0;
    static final byte PROMISE = 1;
    static final byte END = 2;

    static Event promise(long order) {
        return of(PROMISE, order);
    }

    static Event end(long order) {
        return of(END, order);
    }

    /** Returns the record of a row. */
    static Event of(Rows rows, int row, long order, long handedOverNs) {
        return new Event(
                DATA,
                order,
                handedOverNs,
                (byte) rows.get(0, row),
                rows.get(1, row),
                (short) rows.get(2, row),
                (short) rows.get(3, row),
                (byte) rows.get(4, row),
                (byte) rows.get(5, row),
                (byte) rows.get(6, row),
                rows.get(7, row));
    }

    /** Writes the record as a row of the answer. */
    void put(ByteBuffer row, long ts) {
        row.putLong(ts)
                .put(type)
                .putInt(vehicle)
                .putShort(speed)
                .putShort(expressway)
                .put(lane)
                .put(direction)
                .put(segment)
                .putInt(position);
    }

    private static Event of(byte kind, long order) {
        byte noByte = 0;
        short noShort = 0;
        return new Event(kind, order, 0, noByte, 0, noShort, noShort, noByte, noByte, noByte, 0);
    }
}
