package streamlab;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Limits how far sources run ahead of each other in event time, at full speed. Events ahead wait in
 * the operators' memory. Flink's own alignment works in periods of a second, which is too coarse.
 */
final class Alignment {
    /** Average number of input events by which one source may be ahead; they take a few MB. */
    private static final long MOST_EVENTS = 1 << 16;

    private final AtomicLongArray reached;
    private final long mostAhead;

    Alignment(Job job, int[] rows) {
        // A stream has one reader, but bulk and synchronizing events may have one each.
        reached = new AtomicLongArray(2 * rows.length);
        for (int place = 0; place < reached.length(); place++) {
            reached.set(place, Long.MAX_VALUE);
        }
        mostAhead = job.timeOf(MOST_EVENTS);
    }

    /** Records a reader's position: the time of its next event. */
    void reach(int place, long ts) {
        reached.lazySet(place, ts);
    }

    void done(int place) {
        reached.set(place, Long.MAX_VALUE);
    }

    /**
     * Returns whether a reader whose next event has this time must wait. The slowest reader never
     * waits, however long the gap before its next event.
     */
    boolean tooFarAhead(int place, long ts) {
        reach(place, ts);
        long slowest = Long.MAX_VALUE;
        for (int reader = 0; reader < reached.length(); reader++) {
            slowest = Math.min(slowest, reached.get(reader));
        }
        return ts - slowest > mostAhead;
    }
}
