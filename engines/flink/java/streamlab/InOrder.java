package streamlab;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Passes events to an update in the total order of the input.
 *
 * <p>Flink keeps the order within a channel but not between channels. Events therefore wait here, in
 * one queue for each stream and source that reads it, until the watermark passes them; then the
 * queues are merged. The queues hold a few events per watermark, plus the lead of one source over
 * another. As in the programs of the DGS paper, they are fields of the operator, not Flink state: a
 * failed job would have to restart from the beginning.
 */
final class InOrder extends AbstractStreamOperator<Answer>
        implements OneInputStreamOperator<Event, Answer> {
    private final int run;
    private final Update update;
    /** The label of each key in Flink's state; null where events are not partitioned by key. */
    private final int[] labels;

    private transient Run shared;
    /** By stream and kind; bulk and synchronizing events of one stream may have two sources. */
    private transient ArrayDeque<Event>[][] waiting;
    /** The queues of `waiting` that are not null. */
    private transient List<ArrayDeque<Event>> queues;
    private transient Update.Out out;
    private transient long released;

    InOrder(int run, Update update, int[] labels) {
        this.run = run;
        this.update = update;
        this.labels = labels;
    }

    @Override
    @SuppressWarnings("unchecked")
    public void open() throws Exception {
        super.open();
        shared = Run.of(run);
        released = Long.MIN_VALUE;
        waiting = new ArrayDeque[shared.rows.length][2];
        queues = new ArrayList<>();
        for (int stream = 0; stream < waiting.length; stream++) {
            for (int kind : new int[] {Kind.BULK, Kind.SYNCHRONIZING}) {
                if ((shared.job.streams[stream].kinds >> kind & 1) != 0) {
                    waiting[stream][kind] = new ArrayDeque<>();
                    queues.add(waiting[stream][kind]);
                }
            }
        }
        StreamRecord<Answer> record = new StreamRecord<>(null);
        out = row -> output.collect(record.replace(row, row.ts));
        int task = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
        update.open(shared, task, labels == null ? null : getKeyedStateStore());
    }

    /** Does not set the key: an arriving event only waits, and no keyed state is used. */
    @Override
    @SuppressWarnings("rawtypes")
    public void setKeyContextElement1(StreamRecord record) {}

    @Override
    public void processElement(StreamRecord<Event> record) {
        Event event = record.getValue();
        if (event.ts <= released) {
            throw new IllegalStateException(
                    "an event of time " + event.ts + " arrived after the watermark " + released);
        }
        waiting[event.stream][event.kind].add(event);
    }

    @Override
    public void processWatermark(Watermark mark) throws Exception {
        while (true) {
            ArrayDeque<Event> earliest = null;
            Event first = null;
            for (ArrayDeque<Event> queue : queues) {
                Event head = queue.peek();
                if (head != null
                        && head.ts <= mark.getTimestamp()
                        && (first == null || isBefore(head, first))) {
                    earliest = queue;
                    first = head;
                }
            }
            if (earliest == null) {
                break;
            }
            take(earliest.poll());
        }
        released = mark.getTimestamp();
        super.processWatermark(mark);
    }

    private static boolean isBefore(Event a, Event b) {
        if (a.ts != b.ts) {
            return a.ts < b.ts;
        }
        return a.stream != b.stream ? a.stream < b.stream : a.row < b.row;
    }

    private void take(Event event) throws Exception {
        if (labels != null) {
            setCurrentKey(labels[event.key]);
        }
        update.take(event, out);
        if (shared.paced) {
            // If several tasks take the same event, the last time counts; races lose little.
            long[] done = shared.doneNs[event.stream];
            done[event.row] = Math.max(done[event.row], shared.nowNs());
        }
    }
}
