package streamlab;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Holds back injectors that are far ahead of another in event time: merging needs the other's records
 * first, and would have to store all records of the injectors ahead. The last injector never waits.
 */
final class Lead {
    /** Most records, on average, by which the first injector is ahead of the last. */
    static final int ROWS = 1 << 14;

    private final AtomicLongArray next;
    private final long longest;

    Lead(int injectors, long longest) {
        this.longest = longest;
        next = new AtomicLongArray(injectors);
        restart();
    }

    /** Forgets all positions; called before a phase opens. */
    void restart() {
        for (int injector = 0; injector < next.length(); injector++) {
            next.set(injector, Long.MIN_VALUE);
        }
    }

    void reached(int injector, long order) {
        next.setOpaque(injector, order); // Nothing else is published; other injectors may see it late.
    }

    boolean mayEmit(int injector, long order) {
        reached(injector, order);
        for (int other = 0; other < next.length(); other++) {
            if (next.getOpaque(other) < order - longest) {
                return false;
            }
        }
        return true;
    }
}
