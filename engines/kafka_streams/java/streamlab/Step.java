package streamlab;

/**
 * A step of a query: what a tuple does to the state of its key. Tuples come in the order of time, stream and row; after
 * these three, from index 3, they have the fields that the step before gave.
 */
@FunctionalInterface
interface Step {
    void take(long[] tuple, State state, Output out);

    /** Handles an entry of the state whose time has come, before any tuple of that time; it is no longer in the state. */
    default void due(long ts, long key, long[] value, State state, Output out) {
        throw new IllegalStateException("this step sets no times");
    }

    /** Returns the first multiple of a length that is later than a time. */
    static long after(long ts, long length) {
        return (ts / length + 1) * length;
    }
}
