package streamlab;

/** Takes the tuples that a step makes for the next step or the answer. */
abstract class Output {
    /** The stream of tuples that the passing of time makes, not an event. */
    static final long NO_EVENT = -1;

    long ts;
    long stream;
    long row;

    /** Sets the time of the next tuples, and the event that makes them. */
    void at(long ts, long stream, long row) {
        this.ts = ts;
        this.stream = stream;
        this.row = row;
    }

    /** Sends a tuple with these fields to the task of the key. */
    abstract void emit(long key, long... fields);

    /** Sends all tuples so far. Later tuples have at least the time `bound`; none follow if `last`. */
    abstract void flush(long bound, boolean last);
}
