package streamlab;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/** Stores a task's rows of the answer, or its progress, in memory; with times of arrival under a load. */
final class Collect {
    private static final int BLOCK_BYTES = 1 << 20;
    private static final int ROW_BYTES = 48;

    private final List<ByteBuffer> blocks = new ArrayList<>();
    private final boolean timed;
    private ByteBuffer block = ByteBuffer.allocate(0);
    private long ts;
    private int stream;
    private int row;

    Collect(boolean timed) {
        this.timed = timed;
    }

    /** Sets the event that makes the next rows. */
    void madeBy(long ts, int stream, int row) {
        this.ts = ts;
        this.stream = stream;
        this.row = row;
    }

    void add(int kind, int key, long value, long other) {
        reserve(ROW_BYTES);
        block.putLong(ts).putInt(stream).putInt(row).putInt(kind).putInt(key).putLong(value).putLong(other);
        stamp();
    }

    /** Adds a row of longs: time, stream and row of the event that made it, and fields. */
    void addTuple(long ts, long stream, long row, long[] fields) {
        reserve(8 * (4 + fields.length));
        block.putLong(ts).putLong(stream).putLong(row);
        for (long field : fields) {
            block.putLong(field);
        }
        stamp();
    }

    /** Records under a load that the task makes no rows of times before a bound. */
    void addBound(long bound) {
        if (timed) {
            reserve(16);
            block.putLong(bound);
            stamp();
        }
    }

    private void stamp() {
        if (timed) {
            block.putLong(System.nanoTime());
        }
    }

    private void reserve(int bytes) {
        if (block.remaining() < bytes) {
            block = ByteBuffer.allocate(BLOCK_BYTES).order(ByteOrder.LITTLE_ENDIAN);
            blocks.add(block);
        }
    }

    void write(Path path) throws IOException {
        try (FileChannel file =
                FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            for (ByteBuffer written : blocks) {
                written.flip();
                while (written.hasRemaining()) {
                    file.write(written);
                }
            }
        }
    }
}
