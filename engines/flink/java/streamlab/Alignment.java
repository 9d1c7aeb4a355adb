package streamlab;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Limits how far sources run ahead of each other in event time, at full speed. Events ahead wait in
 * the operators' memory. Flink's own alignment works in periods of a second, which is too coarse.
 */
final class Alignment {
    /** Average number of input events by which one source may be ahead; a few MB. */
    private static final long MOST_EVENTS = 1 << 16;

    private final AtomicLongArray reached;
    private final long mostAhead;

    Alignment(Stream[] streams, int[] rows) {
        // A stream has one reader, but bulk and synchronizing events may have one each.
        reached = new AtomicLongArray(2 * streams.length);
        long events = 0;
        long first = Long.MAX_VALUE;
        long last = Long.MIN_VALUE;
        for (int index = 0; index < rows.length; index++) {
            for (int reader = 0; reader < 2; reader++) {
                reached.set(2 * index + reader, Long.MAX_VALUE);
            }
            if (rows[index] > 0) {
                events += rows[index];
                first = Math.min(first, streams[index].ts[0]);
                last = Math.max(last, streams[index].ts[rows[index] - 1]);
            }
        }
        double perEvent = events == 0 ? 0 : ((double) last - first) / events;
        mostAhead = Math.max(1, (long) (perEvent * MOST_EVENTS));
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
        for (int other = 0; other < reached.length(); other++) {
            slowest = Math.min(slowest, reached.get(other));
        }
        return ts - slowest > mostAhead;
    }
}
