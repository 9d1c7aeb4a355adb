package streamlab;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/** The rows of one task of a sink, in the order of arrival, in memory or in a file. */
final class Part {
    /** Below half of G1's smallest region; larger objects are allocated separately. */
    private static final int CHUNK_BYTES = 1 << 18;

    final int sink;
    private final int rowBytes;
    /** Null if all rows stay in memory. */
    private final FileChannel file;
    private final List<ByteBuffer> full = new ArrayList<>();
    private ByteBuffer chunk = newChunk();

    /** Creates a part; `path` is the path of its file, which may have rows, or null. */
    Part(int sink, int rowBytes, Path path) throws IOException {
        this.sink = sink;
        this.rowBytes = rowBytes;
        file =
                path == null
                        ? null
                        : FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    }

    /** Removes the content of the file after a number of bytes; called before `next`. */
    void truncate(long bytes) throws IOException {
        if (file != null) {
            file.truncate(bytes).position(bytes);
        }
    }

    /** Returns where to write the next row. */
    ByteBuffer next() throws IOException {
        if (chunk.remaining() < rowBytes) {
            if (file != null) {
                flush();
            } else {
                full.add(chunk);
                chunk = newChunk();
            }
        }
        return chunk;
    }

    /** Writes the rows that are not in the file yet, and returns its size. */
    long flush() throws IOException {
        chunk.flip();
        while (chunk.hasRemaining()) {
            file.write(chunk);
        }
        chunk.clear();
        return file.position();
    }

    /** Flushes the rows to the disk, so that they survive a failure of the machine; returns the file's size. */
    long store() throws IOException {
        long size = flush();
        file.force(false);
        return size;
    }

    void close() throws IOException {
        if (file != null) {
            file.close();
        }
    }

    boolean isInFile() {
        return file != null;
    }

    void write(Path path) throws IOException {
        try (OutputStream to = Files.newOutputStream(path)) {
            for (ByteBuffer bytes : full) {
                to.write(bytes.array(), 0, bytes.position());
            }
            to.write(chunk.array(), 0, chunk.position());
        }
    }

    static void write(Path path, long[] values) throws IOException {
        ByteBuffer bytes = newChunk();
        try (OutputStream to = Files.newOutputStream(path)) {
            for (long value : values) {
                if (!bytes.hasRemaining()) {
                    to.write(bytes.array(), 0, bytes.position());
                    bytes.clear();
                }
                bytes.putLong(value);
            }
            to.write(bytes.array(), 0, bytes.position());
        }
    }

    private static ByteBuffer newChunk() {
        return ByteBuffer.allocate(CHUNK_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    }
}
