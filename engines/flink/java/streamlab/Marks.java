package streamlab;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Numbers in files. With these, processes that share only a folder signal each other.
 *
 * <p>Each file is created with 0 before its number is set in place. On network file systems, a reader that opens
 * a file sees its last closed content, but may not see a new file for seconds.
 */
final class Marks {
    private final Path folder;

    Marks(Path folder) {
        this.folder = folder;
    }

    void create(String name) throws IOException {
        Files.write(folder.resolve(name), new byte[Long.BYTES]);
    }

    void set(String name, long number) throws IOException {
        try (FileChannel file = FileChannel.open(folder.resolve(name), StandardOpenOption.WRITE)) {
            file.write(ByteBuffer.allocate(Long.BYTES).putLong(0, number));
        }
    }

    long get(String name) throws IOException {
        return ByteBuffer.wrap(Files.readAllBytes(folder.resolve(name))).getLong();
    }
}
