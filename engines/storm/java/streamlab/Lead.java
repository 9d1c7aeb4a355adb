package streamlab;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Holds an injector back that is far ahead of another in event time: merging needs the others' records
 * first, and would store all of its own. The injector that is furthest behind is never held back.
 */
final class Lead {
    /** Most records, on average, between the first injector and the last. */
    static final int ROWS = 1 << 14;

    private final AtomicLongArray next;
    private final long longest;

    Lead(int injectors, long longest) {
        this.longest = longest;
        next = new AtomicLongArray(injectors);
        restart();
    }

    /** Called before a phase opens. */
    void restart() {
        for (int injector = 0; injector < next.length(); injector++) {
            next.set(injector, Long.MIN_VALUE);
        }
    }

    void reached(int injector, long order) {
        next.setOpaque(injector, order); // Other injectors need only see it at some time.
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
