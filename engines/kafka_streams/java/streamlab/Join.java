package streamlab;

import java.util.Arrays;
import java.util.function.BinaryOperator;

/**
 * Joins the unique event of each key with all other events of the key, in the order of arrival (queries 3 and 20).
 * Other events that precede the unique event are stored. A tuple has its key, JOINS and the fields of a side. JOINS is
 * 1 for a unique event that matches, -1 for one that does not, and 0 for other events. Both sides have equally many
 * fields.
 */
final class Join implements Step {
    private static final int KEY = 3;
    private static final int JOINS = 4;
    private static final int FIELDS = 5;

    private final BinaryOperator<long[]> pair;

    Join(BinaryOperator<long[]> pair) {
        this.pair = pair;
    }

    /** The state is 0 and the fields of stored events; after the unique event, its JOINS and fields. */
    @Override
    public void take(long[] tuple, State state, Output out) {
        long[] stored = state.get(tuple[KEY]);
        long[] fields = Arrays.copyOfRange(tuple, FIELDS, tuple.length);
        if (tuple[JOINS] != 0) {
            state.put(tuple[KEY], Arrays.copyOfRange(tuple, JOINS, tuple.length));
            int width = fields.length;
            for (int begin = 1; tuple[JOINS] > 0 && stored != null && begin < stored.length; begin += width) {
                out.emit(0, pair.apply(fields, Arrays.copyOfRange(stored, begin, begin + width)));
            }
        } else if (stored == null || stored[0] == 0) {
            int length = stored == null ? 1 : stored.length;
            long[] longer = new long[length + fields.length];
            if (stored != null) {
                System.arraycopy(stored, 0, longer, 0, length);
            }
            System.arraycopy(fields, 0, longer, length, fields.length);
            state.put(tuple[KEY], longer);
        } else if (stored[0] > 0) {
            out.emit(0, pair.apply(Arrays.copyOfRange(stored, 1, stored.length), fields));
        }
    }
}
