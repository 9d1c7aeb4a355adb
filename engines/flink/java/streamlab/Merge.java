package streamlab;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Merges the rows of several tasks, each in order, by the events that made them. The `kind` of a row is
 * its task. Rows wait until the watermark has passed them; checkpoints include the waiting rows.
 */
final class Merge extends AbstractStreamOperator<Answer>
        implements OneInputStreamOperator<Answer, Answer> {
    private final int tasks;
    private transient List<ArrayDeque<Answer>> waiting;
    private transient ListState<Answer> stored;
    private transient StreamRecord<Answer> record;

    Merge(int tasks) {
        this.tasks = tasks;
    }

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        waiting = new ArrayList<>();
        for (int task = 0; task < tasks; task++) {
            waiting.add(new ArrayDeque<>());
        }
        record = new StreamRecord<>(null);
        stored =
                context.getOperatorStateStore()
                        .getListState(new ListStateDescriptor<>("waiting", Answer.class));
        for (Answer row : stored.get()) {
            waiting.get(row.kind).add(row);
        }
    }

    @Override
    public void snapshotState(StateSnapshotContext context) throws Exception {
        super.snapshotState(context);
        stored.update(List.of());
        for (ArrayDeque<Answer> queue : waiting) {
            stored.addAll(List.copyOf(queue));
        }
    }

    @Override
    public void processElement(StreamRecord<Answer> element) {
        Answer row = element.getValue();
        waiting.get(row.kind).add(row);
    }

    @Override
    public void processWatermark(Watermark mark) throws Exception {
        while (true) {
            ArrayDeque<Answer> earliest = null;
            for (ArrayDeque<Answer> queue : waiting) {
                Answer head = queue.peek();
                if (head != null
                        && head.ts <= mark.getTimestamp()
                        && (earliest == null || isBefore(head, earliest.peek()))) {
                    earliest = queue;
                }
            }
            if (earliest == null) {
                break;
            }
            Answer row = earliest.poll();
            output.collect(record.replace(row, row.ts));
        }
        super.processWatermark(mark);
    }

    private static boolean isBefore(Answer a, Answer b) {
        if (a.ts != b.ts) {
            return a.ts < b.ts;
        }
        return a.stream != b.stream ? a.stream < b.stream : a.row < b.row;
    }
}
