package streamlab;

/** Puts the tuples of the last step into the answer, and records the step's progress. */
final class AnswerRows extends Output {
    private final Run run;
    private final Collect collect;
    private final Collect bounds;
    private long lastBound = Long.MIN_VALUE;

    AnswerRows(Run run, int partition) {
        this.run = run;
        collect = run.collect(partition);
        bounds = run.bounds(partition);
    }

    @Override
    void emit(long key, long... fields) {
        collect.addTuple(ts, stream, row, fields);
    }

    @Override
    void flush(long bound, boolean last) {
        if (bound > lastBound) {
            bounds.addBound(bound);
            lastBound = bound;
        }
        if (last) {
            run.ended();
        }
    }
}
