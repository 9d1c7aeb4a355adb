package streamlab;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/** The rows of a sink in the order of their arrival, and a histogram of their latencies. */
public final class Answer {
    /** Each value below 2,048 ns has its own bucket; above, 1,024 buckets share a power of two, as in recording.py. */
    private static final int SUB_BUCKET_BITS = 11;
    private static final int BUCKETS = (Long.SIZE - SUB_BUCKET_BITS + 1) << (SUB_BUCKET_BITS - 1);
    private static final int CHUNK_ROWS = 1 << 13;

    private final int chunkBytes;
    private final List<ByteBuffer> full = new ArrayList<>();
    private ByteBuffer chunk;
    private final long[] latencies = new long[BUCKETS];

    Answer(int rowBytes) {
        chunkBytes = CHUNK_ROWS * rowBytes;
        chunk = newChunk();
    }

    /** Returns the buffer into which the caller puts exactly one row. */
    public ByteBuffer row() {
        if (!chunk.hasRemaining()) {
            full.add(chunk);
            chunk = newChunk();
        }
        return chunk;
    }

    void countLatency(long ns) {
        latencies[bucket(ns)]++;
    }

    private static int bucket(long value) {
        int bits = Long.SIZE - Long.numberOfLeadingZeros(value);
        int shift = Math.max(bits, SUB_BUCKET_BITS) - SUB_BUCKET_BITS;
        return (shift << (SUB_BUCKET_BITS - 1)) + (int) (value >> shift);
    }

    /** Writes for each bucket how many latencies of all sinks are in it. */
    static void writeLatencies(Answer[] sinks, Path path) throws IOException {
        ByteBuffer counts =
                ByteBuffer.allocate(BUCKETS * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
            long count = 0;
            for (Answer sink : sinks) {
                count += sink.latencies[bucket];
            }
            counts.putLong(count);
        }
        Files.write(path, counts.array());
    }

    void write(Path path) throws IOException {
        try (FileChannel file =
                FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            full.add(chunk);
            for (ByteBuffer written : full) {
                written.flip();
                while (written.hasRemaining()) {
                    file.write(written);
                }
            }
        }
    }

    private ByteBuffer newChunk() {
        return ByteBuffer.allocate(chunkBytes).order(ByteOrder.LITTLE_ENDIAN);
    }
}
