package streamlab.queries;

/** A reading at which a line of loads begins. */
public record Line(long ts, long loadMw) {
    /** Receives the load of a second. */
    @FunctionalInterface
    public interface Take {
        void load(long second, long loadMw);
    }

    /**
     * Emits the loads after the begin of a line, up to a new reading, and returns the begin of the next
     * line. If there is no line (null) or the gap is too long, it emits only the load of the reading.
     */
    public static Line fill(Line from, long ts, long loadMw, long longestGapS, Take take) {
        if (from == null || ts - from.ts > longestGapS) {
            take.load(ts, loadMw);
        } else {
            long seconds = ts - from.ts;
            for (long i = 1; i <= seconds; i++) {
                long rise = i * (loadMw - from.loadMw);
                long doubled = 2 * (from.loadMw * seconds + rise) + seconds;
                take.load(from.ts + i, Math.floorDiv(doubled, 2 * seconds));
            }
        }
        return new Line(ts, loadMw);
    }

    /** Returns a rounded average; halves are rounded up. */
    public static long average(long sumMw, long plugs) {
        return Math.floorDiv(2 * sumMw + plugs, 2 * plugs);
    }
}
