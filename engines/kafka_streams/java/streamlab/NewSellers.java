package streamlab;

/** Emits the persons that registered and opened an auction in the same window, at its end (query 8). */
final class NewSellers implements Step {
    private final long sizeMs;

    NewSellers(long sizeMs) {
        this.sizeMs = sizeMs;
    }

    /** The state is whether the person registered, whether the person opened an auction, and the name. */
    @Override
    public void take(long[] t, State state, Output out) {
        long end = Step.after(t[0], sizeMs);
        long[] person = state.get(end, t[4]);
        if (person == null) {
            person = new long[3];
        }
        if (t[3] == Queries.IS_PERSON) {
            person[0] = 1;
            person[2] = t[5];
        } else {
            person[1] = 1;
        }
        state.put(end, t[4], person);
    }

    @Override
    public void due(long ts, long key, long[] person, State state, Output out) {
        if (person[0] == 1 && person[1] == 1) {
            out.emit(0, key, person[2]);
        }
    }
}
