package streamlab;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/**
 * Applies a step of a query to the tuples of one task. The first step reads rows of the dataset's topics; with arrival
 * times, these rows form one sequence in the order of arrival.
 */
final class Stage extends ContextualProcessor<Object, byte[], Integer, byte[]> {
    private final Run run;
    private final int index;
    private final Step step;
    private final boolean isLast;
    private Merge merge;
    private State state;
    private Output out;
    private int[] lastRows;
    private int openStreams;

    Stage(Run run, List<Step> steps, int index) {
        this.run = run;
        this.index = index;
        step = steps.get(index);
        isLast = index == steps.size() - 1;
    }

    static String store(int index) {
        return "state-" + index;
    }

    @Override
    public void init(ProcessorContext<Integer, byte[]> context) {
        super.init(context);
        int streams = run.job.topics.topics.length;
        int sources = run.job.arrivalTickNs > 0 ? 1 : streams;
        merge = new Merge(index == 0 ? sources : index == 1 ? 1 : Exchange.PARTITIONS);
        state = index == 0 ? null : new State(context.getStateStore(store(index)));
        out = isLast ? new AnswerRows(run, context.taskId().partition()) : new Exchange(context);
        lastRows = new int[streams];
        Arrays.fill(lastRows, -1);
        openStreams = streams;
    }

    @Override
    public void process(Record<Object, byte[]> record) {
        run.record();
        if (index == 0) {
            readRows(record.value());
        } else {
            Exchange.read(record.value(), merge);
        }
        for (long[] tuple = merge.next(); tuple != null; tuple = merge.next()) {
            advance(tuple[0]);
            out.at(tuple[0], tuple[1], tuple[2]);
            step.take(tuple, state, out);
        }
        long bound = merge.bound();
        advance(bound);
        out.flush(bound, bound == Long.MAX_VALUE);
    }

    private void advance(long until) {
        if (state != null) {
            state.advance(until, step, out);
        }
    }

    private void readRows(byte[] record) {
        RecordMetadata from = context().recordMetadata().orElseThrow();
        Topics topics = run.job.topics;
        Topics.Topic topic = topics.of(from.topic());
        String place =
                "record " + from.offset() + " in partition " + from.partition() + " of topic " + from.topic();
        int stream = topic.stream();
        Rows rows = new Rows(topics, topic, record, place);
        if (!rows.isEmpty()) {
            lastRows[stream] = rows.after(lastRows[stream], place);
        }
        boolean byArrival = run.job.arrivalTickNs > 0;
        long arrival = byArrival ? run.arrival() : 0;
        int sender = byArrival ? 0 : stream;
        openStreams -= rows.end ? 1 : 0;
        if (byArrival) {
            merge.promise(sender, openStreams == 0 ? Long.MAX_VALUE : arrival);
        } else {
            promise(stream, rows);
        }
        ByteBuffer bytes = ByteBuffer.wrap(record).order(ByteOrder.LITTLE_ENDIAN);
        int[] columns = run.job.columns[stream];
        for (int offset = Rows.HEADER_BYTES; !rows.isEmpty(); rows.next(), offset += topic.rowBytes()) {
            long[] tuple = new long[3 + columns.length];
            tuple[0] = byArrival ? arrival : rows.ts();
            tuple[1] = stream;
            tuple[2] = rows.row();
            for (int column = 0; column < columns.length; column++) {
                tuple[3 + column] = number(bytes, offset + (columns[column] >> 4), columns[column] & 15);
            }
            merge.add(sender, tuple);
            run.done(stream, rows.row());
        }
    }

    private void promise(int stream, Rows rows) {
        if (!rows.isEmpty()) {
            merge.promise(stream, rows.lastTs());
        }
        if (rows.promise != Long.MIN_VALUE) {
            merge.promise(stream, rows.promise + 1);
        }
        if (rows.end) {
            merge.promise(stream, Long.MAX_VALUE);
        }
    }

    private static long number(ByteBuffer record, int offset, int size) {
        return switch (size) {
            case 1 -> record.get(offset);
            case 4 -> record.getInt(offset);
            default -> record.getLong(offset);
        };
    }
}
