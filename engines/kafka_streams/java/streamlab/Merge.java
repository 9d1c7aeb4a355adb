package streamlab;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/** Merges senders by (time, stream, row); each sender adds its tuples in that order. */
final class Merge {
    private static final class Sender {
        final ArrayDeque<long[]> tuples = new ArrayDeque<>();
        /** No later tuple has a smaller time. */
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

    /** Returns the next tuple, or null if an earlier tuple may still arrive. */
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
        // At the time of the bound, a tuple of equal time may still arrive.
        boolean waits = least == null || (least.tuples.peek()[0] >= bound && bound < Long.MAX_VALUE);
        return waits ? null : least.tuples.remove();
    }

    /** Returns a lower bound on the times of further tuples; Long.MAX_VALUE after the last. */
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
