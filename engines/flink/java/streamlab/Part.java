package streamlab;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The rows of one task of a sink, in the order of arrival. */
final class Part {
    /** Below half of G1's smallest region; larger objects are allocated separately. */
    private static final int CHUNK_BYTES = 1 << 18;

    private final int rowBytes;
    private final List<ByteBuffer> full = new ArrayList<>();
    private ByteBuffer chunk;

    Part(int rowBytes) {
        this.rowBytes = rowBytes;
        chunk = newChunk();
    }

    /** Returns where to write the next row. */
    ByteBuffer next() {
        if (chunk.remaining() < rowBytes) {
            full.add(chunk);
            chunk = newChunk();
        }
        return chunk;
    }

    void write(Path path) throws IOException {
        try (OutputStream file = Files.newOutputStream(path)) {
            for (ByteBuffer bytes : full) {
                file.write(bytes.array(), 0, bytes.position());
            }
            file.write(chunk.array(), 0, chunk.position());
        }
    }

    static void write(Path path, long[] values) throws IOException {
        ByteBuffer bytes = newChunk();
        try (OutputStream file = Files.newOutputStream(path)) {
            for (long value : values) {
                if (!bytes.hasRemaining()) {
                    file.write(bytes.array(), 0, bytes.position());
                    bytes.clear();
                }
                bytes.putLong(value);
            }
            file.write(bytes.array(), 0, bytes.position());
        }
    }

    private static ByteBuffer newChunk() {
        return ByteBuffer.allocate(CHUNK_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    }
}
