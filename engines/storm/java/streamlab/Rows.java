package streamlab;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A stream of the input in memory: the time of each row, and a column for each other field. */
public final class Rows {
    private static final int ROWS_PER_READ = 1 << 16;

    public final long[] ts;
    private final int[][] columns;

    /** Reads a file that the adapter wrote: each row has its time, then the fields. */
    Rows(Path path, int fields) throws IOException {
        int bytes = Long.BYTES + fields * Integer.BYTES;
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ)) {
            int rows = Math.toIntExact(file.size() / bytes);
            ts = new long[rows];
            columns = new int[fields][rows];
            ByteBuffer chunk =
                    ByteBuffer.allocateDirect(ROWS_PER_READ * bytes).order(ByteOrder.LITTLE_ENDIAN);
            for (int row = 0; row < rows; ) {
                while (chunk.hasRemaining() && file.read(chunk) >= 0) {}
                chunk.flip();
                for (; chunk.remaining() >= bytes; row++) {
                    ts[row] = chunk.getLong();
                    for (int[] column : columns) {
                        column[row] = chunk.getInt();
                    }
                }
                chunk.compact();
            }
        }
    }

    public int get(int column, int row) {
        return columns[column][row];
    }
}
