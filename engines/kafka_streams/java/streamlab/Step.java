package streamlab;

/**
 * A step of a query: updates the state of a tuple's key, and outputs tuples. Tuples come in the order of time, stream
 * and row. These are their first three numbers; the fields from the step before follow.
 */
@FunctionalInterface
interface Step {
    void take(long[] tuple, State state, Output out);

    /** Takes an entry that is due, before any tuple of its time; the state no longer has the entry. */
    default void due(long ts, long key, long[] value, State state, Output out) {
        throw new IllegalStateException("this step sets no times");
    }

    /** Returns the first multiple of a length that is later than a time. */
    static long after(long ts, long length) {
        return (ts / length + 1) * length;
    }
}
