package streamlab;

import java.util.Arrays;
import java.util.function.BinaryOperator;

/**
 * Joins an event that occurs once for each key with all others of the key, as they come (queries 3 and 20). Others may
 * precede it; they are then stored. A tuple has its key, JOINS and the fields of a side. JOINS is 1 for the unique event
 * if it matches, -1 if it does not, and 0 for other events. Both sides have equally many fields.
 */
final class Join implements Step {
    private static final int KEY = 3;
    private static final int JOINS = 4;
    private static final int FIELDS = 5;

    private final BinaryOperator<long[]> pair;

    Join(BinaryOperator<long[]> pair) {
        this.pair = pair;
    }

    /** The state is 0 and the fields of stored events, or as in a tuple from JOINS on. */
    @Override
    public void take(long[] tuple, State state, Output out) {
        long[] stored = state.get(tuple[KEY]);
        long[] fields = Arrays.copyOfRange(tuple, FIELDS, tuple.length);
        if (tuple[JOINS] != 0) {
            state.put(tuple[KEY], Arrays.copyOfRange(tuple, JOINS, tuple.length));
            for (int at = 1; tuple[JOINS] > 0 && stored != null && at < stored.length; at += fields.length) {
                out.emit(0, pair.apply(fields, Arrays.copyOfRange(stored, at, at + fields.length)));
            }
        } else if (stored == null || stored[0] == 0) {
            int length = stored == null ? 1 : stored.length;
            long[] more = stored == null ? new long[1 + fields.length] : Arrays.copyOf(stored, length + fields.length);
            System.arraycopy(fields, 0, more, length, fields.length);
            state.put(tuple[KEY], more);
        } else if (stored[0] > 0) {
            out.emit(0, pair.apply(Arrays.copyOfRange(stored, 1, stored.length), fields));
        }
    }
}
