package streamlab;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Queue;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.OperatorStateStore;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.InstantiationUtil;

/**
 * Passes events to an update in the total order of the input.
 *
 * <p>Flink keeps the order within a channel but not between channels. Events therefore wait here until
 * the watermark passes them, in one queue for each stream and source; then the queues are merged. The
 * queues have a few events per watermark, plus the lead of one source over another. Checkpoints include
 * the queues and the update's own fields.
 */
final class InOrder extends AbstractStreamOperator<Answer>
        implements OneInputStreamOperator<Event, Answer> {
    private final Run.Id run;
    private Update update;
    /** The label of each key in Flink's state; null if events are not partitioned by key. */
    private final int[] labels;

    private transient Run shared;
    /** Queues by stream and kind; bulk and synchronizing events of one stream may have two sources. */
    private transient Queue<Event>[][] waiting;
    /** The queues of `waiting` that are not null. */
    private transient List<Queue<Event>> queues;
    private transient Update.Out out;
    private transient long released;
    private transient ListState<Event> storedEvents;
    private transient ListState<byte[]> storedUpdate;

    InOrder(Run.Id run, Update update, int[] labels) {
        this.run = run;
        this.update = update;
        this.labels = labels;
    }

    @Override
    @SuppressWarnings("unchecked")
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        shared = Run.of(run);
        waiting = new Queue[shared.rows.length][2];
        queues = new ArrayList<>();
        for (int stream = 0; stream < waiting.length; stream++) {
            for (int kind : new int[] {Kind.BULK, Kind.SYNCHRONIZING}) {
                if ((shared.job.kinds[stream] >> kind & 1) != 0) {
                    waiting[stream][kind] = newQueue();
                    queues.add(waiting[stream][kind]);
                }
            }
        }
        OperatorStateStore store = context.getOperatorStateStore();
        storedEvents = store.getListState(new ListStateDescriptor<>("waiting", Event.class));
        storedUpdate =
                store.getListState(
                        new ListStateDescriptor<>(
                                "update", PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO));
        for (Event event : storedEvents.get()) {
            waiting[event.stream][event.kind].add(event);
        }
        for (byte[] bytes : storedUpdate.get()) {
            update = InstantiationUtil.deserializeObject(bytes, getUserCodeClassloader());
        }
    }

    /** Returns a queue that orders its events if a broker splits a stream into partitions. */
    private Queue<Event> newQueue() {
        if (shared.job.topics == null) {
            return new ArrayDeque<>();
        }
        return new PriorityQueue<>((left, right) -> isBefore(left, right) ? -1 : 1);
    }

    @Override
    public void snapshotState(StateSnapshotContext context) throws Exception {
        super.snapshotState(context);
        storedEvents.update(List.of());
        for (Queue<Event> queue : queues) {
            storedEvents.addAll(List.copyOf(queue));
        }
        storedUpdate.update(List.of(InstantiationUtil.serializeObject(update)));
    }

    @Override
    public void open() throws Exception {
        super.open();
        released = Long.MIN_VALUE;
        StreamRecord<Answer> record = new StreamRecord<>(null);
        out = row -> output.collect(record.replace(row, row.ts));
        int task = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
        update.open(shared, task, labels == null ? null : getKeyedStateStore());
    }

    /** Sets no key, because an arriving event only waits and uses no keyed state. */
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
            Queue<Event> earliest = null;
            Event first = null;
            for (Queue<Event> queue : queues) {
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
            // If several tasks take the same event, the latest time counts. A race may store a slightly earlier time.
            long[] done = shared.doneNs[event.stream];
            done[event.row] = Math.max(done[event.row], shared.nowNs());
        }
    }
}
