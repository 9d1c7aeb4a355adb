package streamlab;

import java.util.ArrayDeque;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Applies a program to the rows of one partition of all topics, in the order of time, stream and row. A row waits until
 * the promises of all streams exclude an earlier row.
 */
final class InOrder extends ContextualProcessor<byte[], byte[], Void, Void> {
    static final String STORE = "state";

    /** The rows of a stream that have arrived, and a lower bound on the times of later rows. */
    private static final class Stream {
        final ArrayDeque<Rows> rows = new ArrayDeque<>();
        long bound = Long.MIN_VALUE;
        int lastRow = -1;
    }

    private final Run run;
    private final Program program;
    private Stream[] streams;
    private Collect collect;
    private KeyValueStore<Integer, Long> store;

    InOrder(Run run) {
        this.run = run;
        program = Program.of(run.job.workload);
    }

    @Override
    public void init(ProcessorContext<Void, Void> context) {
        super.init(context);
        store = context.getStateStore(STORE);
        streams = new Stream[run.job.topics.topics.length];
        for (int index = 0; index < streams.length; index++) {
            if (context.taskId().partition() < run.job.topics.topics[index].partitions()) {
                streams[index] = new Stream();
            }
        }
        collect = run.collect(context.taskId().partition());
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
        RecordMetadata from = context().recordMetadata().orElseThrow();
        Topics.Topic topic = run.job.topics.of(from.topic());
        String place =
                "record " + from.offset() + " in partition " + from.partition() + " of topic " + from.topic();
        run.record();
        Rows rows = new Rows(run.job.topics, topic, record.value(), place);
        Stream stream = streams[topic.stream()];
        if (!rows.isEmpty()) {
            stream.lastRow = rows.after(stream.lastRow, place);
            stream.bound = Math.max(stream.bound, rows.lastTs());
            stream.rows.add(rows);
        }
        if (rows.promise != Long.MIN_VALUE) {
            stream.bound = Math.max(stream.bound, rows.promise + 1);
        }
        if (rows.end) {
            stream.bound = Long.MAX_VALUE;
        }
        apply();
        if (rows.end) {
            run.ended();
        }
    }

    private void apply() {
        while (true) {
            int least = -1;
            long leastTs = Long.MAX_VALUE;
            for (int index = 0; index < streams.length; index++) {
                Stream stream = streams[index];
                if (stream == null) {
                    continue;
                }
                long ts = stream.rows.isEmpty() ? stream.bound : stream.rows.peek().ts();
                if (ts < leastTs) {
                    least = index;
                    leastTs = ts;
                }
            }
            if (least < 0 || streams[least].rows.isEmpty()) {
                return; // All rows are done, or an earlier row may still arrive.
            }
            // The earliest time of the other streams' next rows. Rows before this time need no comparison.
            long until = Long.MAX_VALUE;
            boolean first = true;
            for (int index = 0; index < streams.length; index++) {
                Stream other = streams[index];
                if (other == null || index == least) {
                    continue;
                }
                long ts = other.rows.isEmpty() ? other.bound : other.rows.peek().ts();
                if (ts < until) {
                    until = ts;
                    first = least < index;
                } else if (ts == until) {
                    first = first && least < index;
                }
            }
            Rows rows = streams[least].rows.peek();
            while (!rows.isEmpty()) {
                long ts = rows.ts();
                if (ts > until || (ts == until && !first)) {
                    break;
                }
                int kind = rows.kind();
                collect.madeBy(ts, least, rows.row());
                program.update(kind, rows.key(), rows.value(kind), store, collect);
                run.done(least, rows.row());
                rows.next();
            }
            if (rows.isEmpty()) {
                streams[least].rows.remove();
            }
        }
    }
}
