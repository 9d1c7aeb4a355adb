package streamlab;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/**
 * Sends tuples to the tasks of the next step by Kafka's hash of their keys, through a repartition topic.
 * A record has the sender, a lower bound on the times of its later tuples, the number of longs of a tuple, and the
 * tuples.
 */
final class Exchange extends Output {
    static final int PARTITIONS = 4;
    private static final int HEADER_BYTES = 24;
    /** Records above this size are sent before the output of a step is complete. Kafka's limit is 1 MiB. */
    private static final int FULL_BYTES = 1 << 19;

    private final ProcessorContext<Integer, byte[]> context;
    private final int sender;
    private final ByteBuffer[] buffers = new ByteBuffer[PARTITIONS];
    private final ByteBuffer keyBytes = ByteBuffer.allocate(8);
    private long width;
    private long sentBound = Long.MIN_VALUE;

    Exchange(ProcessorContext<Integer, byte[]> context) {
        this.context = context;
        sender = context.taskId().partition();
        Arrays.setAll(buffers, each -> ByteBuffer.allocate(1 << 12).position(HEADER_BYTES));
    }

    @Override
    void emit(long key, long... fields) {
        keyBytes.putLong(0, key);
        int partition = Utils.toPositive(Utils.murmur2(keyBytes.array())) % PARTITIONS;
        width = 3 + fields.length;
        ByteBuffer buffer = buffers[partition];
        if (buffer.remaining() < 8 * width) {
            buffer = ByteBuffer.allocate(2 * buffer.capacity()).put(buffer.flip());
            buffers[partition] = buffer;
        }
        buffer.putLong(ts).putLong(stream).putLong(row);
        for (long field : fields) {
            buffer.putLong(field);
        }
        if (buffer.position() > FULL_BYTES) {
            send(partition, sentBound);
        }
    }

    @Override
    void flush(long bound, boolean last) {
        for (int partition = 0; partition < PARTITIONS; partition++) {
            if (buffers[partition].position() > HEADER_BYTES || bound > sentBound) {
                send(partition, bound);
            }
        }
        sentBound = bound;
    }

    private void send(int partition, long bound) {
        ByteBuffer buffer = buffers[partition];
        buffer.putLong(0, sender).putLong(8, bound).putLong(16, width);
        byte[] record = Arrays.copyOf(buffer.array(), buffer.position());
        context.forward(new Record<>(partition, record, context.currentStreamTimeMs()));
        buffer.position(HEADER_BYTES);
    }

    /** Adds the tuples of a record to a merge. */
    static void read(byte[] record, Merge merge) {
        ByteBuffer bytes = ByteBuffer.wrap(record);
        int sender = (int) bytes.getLong();
        long bound = bytes.getLong();
        int width = (int) bytes.getLong();
        while (bytes.hasRemaining()) {
            long[] tuple = new long[width];
            bytes.asLongBuffer().get(tuple);
            bytes.position(bytes.position() + 8 * width);
            merge.add(sender, tuple);
        }
        merge.promise(sender, bound);
    }
}
