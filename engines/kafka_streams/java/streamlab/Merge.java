package streamlab;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/** Merges tuples of several senders, each in its order, by time, stream and row. */
final class Merge {
    private static final class Sender {
        final ArrayDeque<long[]> tuples = new ArrayDeque<>();
        /** The least time of what follows. */
        long bound = Long.MIN_VALUE;

        long leastTs() {
            return tuples.isEmpty() ? bound : tuples.peek()[0];
        }
    }

    private final List<Sender> senders = new ArrayList<>();

    Merge(int count) {
        for (int sender = 0; sender < count; sender++) {
            senders.add(new Sender());
        }
    }

    void add(int sender, long[] tuple) {
        senders.get(sender).tuples.add(tuple);
    }

    void promise(int sender, long bound) {
        senders.get(sender).bound = Math.max(senders.get(sender).bound, bound);
    }

    /** Returns the next tuple, or null if an earlier one may come. */
    long[] next() {
        Sender least = null;
        long bound = Long.MAX_VALUE;
        for (Sender sender : senders) {
            if (sender.tuples.isEmpty()) {
                bound = Math.min(bound, sender.bound);
            } else if (least == null || isBefore(sender.tuples.peek(), least.tuples.peek())) {
                least = sender;
            }
        }
        boolean waits = least == null || (least.tuples.peek()[0] >= bound && bound < Long.MAX_VALUE);
        return waits ? null : least.tuples.remove();
    }

    /** Returns the least time of what `next` will return: the end of time after all. */
    long bound() {
        long bound = Long.MAX_VALUE;
        for (Sender sender : senders) {
            bound = Math.min(bound, sender.leastTs());
        }
        return bound;
    }

    private static boolean isBefore(long[] a, long[] b) {
        for (int index = 0; index < 3; index++) {
            if (a[index] != b[index]) {
                return a[index] < b[index];
            }
        }
        return false;
    }
}
