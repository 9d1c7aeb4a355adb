package streamlab;

import java.util.Arrays;
import java.util.List;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/** Sends a producer's events in order, each to one of its consumers. */
final class Sender {
    /** How many rows make a batch; consumers that got none of a batch get a promise at its end. */
    static final int ROWS_PER_PROMISE = 64;
    /** 2^64 divided by the golden ratio; spreads times that are all multiples of a number. */
    private static final long MIX = 0x9E3779B97F4A7C15L;

    /** Emits a tuple to a task. */
    interface Emit {
        void to(int task, List<Object> tuple);
    }

    private final Emit emit;
    private final int[] tasks;
    /** The order of the last event that each consumer got, which is also a promise. */
    private final long[] last;
    private final boolean inTurn;
    private int turn;
    private int unpromisedRows;

    /** Without `inTurn`, `deal` sends all events with the same time to one consumer, so that they stay in order. */
    Sender(Emit emit, List<Integer> tasks, boolean inTurn) {
        this.inTurn = inTurn;
        this.emit = emit;
        this.tasks = tasks.stream().mapToInt(Integer::intValue).sorted().toArray();
        last = new long[this.tasks.length];
        Arrays.fill(last, Long.MIN_VALUE);
    }

    /** Returns a sender to all tasks of a component. */
    static Sender toAll(TopologyContext context, String consumer, Emit emit) {
        boolean inTurn = Run.current().job.dealsInTurn;
        return new Sender(emit, context.getComponentTasks(consumer), inTurn);
    }

    static void declareOutput(OutputFieldsDeclarer declarer) {
        declarer.declare(true, new Fields("event"));
    }

    /** Sends an event to the consumer whose turn it is, or to the one of its time. */
    void deal(Event event) {
        if (inTurn) {
            send(turn, event);
            turn = (turn + 1) % tasks.length;
        } else {
            sendByHash((int) (event.order() * MIX >>> Integer.SIZE), event);
        }
    }

    void sendByHash(int hash, Event event) {
        send(Math.floorMod(hash, tasks.length), event);
    }

    private void send(int consumer, Event event) {
        last[consumer] = event.order();
        emit.to(tasks[consumer], new Values(event));
    }

    /** Counts a row that was read, even if it was not sent. */
    void countRow(long order) {
        if (++unpromisedRows >= ROWS_PER_PROMISE) {
            promise(order);
        }
    }

    /** Promises that later events have at least this order, to consumers that do not know it yet. */
    void promise(long order) {
        unpromisedRows = 0;
        for (int consumer = 0; consumer < tasks.length; consumer++) {
            if (last[consumer] < order) {
                send(consumer, Event.promise(order));
            }
        }
    }

    /** Ends a phase; the promise after the end makes the end ready. */
    void end(long order) {
        for (int consumer = 0; consumer < tasks.length; consumer++) {
            send(consumer, Event.end(order));
        }
        promise(order + 1);
    }
}
