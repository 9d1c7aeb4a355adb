package streamlab.queries;

/** A reading that a line of loads begins at. */
public record Line(long ts, long loadMw) {
    /** Takes the load of a second. */
    @FunctionalInterface
    public interface Take {
        void load(long second, long loadMw);
    }

    /**
     * Gives the loads from a line's begin, without it, up to a new reading, and returns the begin of the next
     * line. A reading without a line (null) or after a longer gap gives its own load only.
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

    /** Returns an average, rounded, halves up. */
    public static long average(long sumMw, long plugs) {
        return Math.floorDiv(2 * sumMw + plugs, 2 * plugs);
    }
}
