package streamlab.queries;

/** The loads of a type of device in the last 60 seconds, and their sum. */
public final class Minute {
    private static final int SECONDS = 60;

    private final long[] bySecondMw = new long[SECONDS];
    private boolean seen;
    private long lastSecond;
    private long sumMj;

    /** Adds the load of a second, which is later than all before it; returns the sum of the last minute. */
    public long add(long second, long loadMw) {
        long expired = seen ? Math.min(SECONDS, second - lastSecond) : SECONDS;
        for (long age = 0; age < expired; age++) {
            int slot = (int) Math.floorMod(second - age, (long) SECONDS);
            sumMj -= bySecondMw[slot];
            bySecondMw[slot] = 0;
        }
        bySecondMw[(int) Math.floorMod(second, (long) SECONDS)] = loadMw;
        sumMj += loadMw;
        seen = true;
        lastSecond = second;
        return sumMj;
    }
}
