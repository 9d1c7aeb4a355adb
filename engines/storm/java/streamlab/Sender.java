package streamlab;

import java.util.Arrays;
import java.util.List;
import org.apache.storm.tuple.Values;

/** Sends a producer's events to its consumers, in order, each to one of them. */
final class Sender {
    /** Rows after which consumers without any of them get a promise. */
    static final int ROWS_PER_PROMISE = 64;

    /** Emits a tuple to a task. */
    interface Emit {
        void to(int task, List<Object> tuple);
    }

    private final Emit emit;
    private final int[] tasks;
    /** The order of the last event that each consumer got, which is also a promise. */
    private final long[] last;
    private int unpromisedRows;

    Sender(Emit emit, List<Integer> tasks) {
        this.emit = emit;
        this.tasks = tasks.stream().mapToInt(Integer::intValue).sorted().toArray();
        last = new long[this.tasks.length];
        Arrays.fill(last, Long.MIN_VALUE);
    }

    int consumers() {
        return tasks.length;
    }

    void send(int to, Event event) {
        last[to] = event.order();
        emit.to(tasks[to], new Values(event));
    }

    /** Counts a row that was read, whether or not it was sent. */
    void countRow(long order) {
        if (++unpromisedRows >= ROWS_PER_PROMISE) {
            promise(order);
        }
    }

    /** Promises that later events have at least this order, to consumers that do not know it yet. */
    void promise(long order) {
        unpromisedRows = 0;
        for (int to = 0; to < tasks.length; to++) {
            if (last[to] < order) {
                send(to, Event.promise(order));
            }
        }
    }

    /** Ends a phase: the promise behind the end makes the end ready. */
    void end(long order) {
        for (int to = 0; to < tasks.length; to++) {
            send(to, Event.end(order));
        }
        promise(order + 1);
    }
}
