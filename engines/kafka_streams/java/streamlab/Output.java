package streamlab;

/** Takes the tuples that a step makes: for the next step, or for the answer. */
abstract class Output {
    /** The stream of tuples that the passing of a time makes, not an event. */
    static final long NO_EVENT = -1;

    long ts;
    long stream;
    long row;

    /** Names the time and the event that the next tuples come from. */
    void at(long ts, long stream, long row) {
        this.ts = ts;
        this.stream = stream;
        this.row = row;
    }

    /** Gives a tuple with these fields to the task that has the key. */
    abstract void emit(long key, long... fields);

    /** Lets tuples leave; later ones have at least the time `bound`, and after `last` there are none. */
    abstract void flush(long bound, boolean last);
}
