package streamlab;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A stream of the input in memory: the time of each row, and columns of its other fields. */
public final class Rows {
    private static final int ROWS_AT_A_TIME = 1 << 16;

    public final long[] ts;
    private final int[][] columns;

    /** Reads a file as the adapter writes it: each row's time, then the fields. */
    Rows(Path path, int fields) throws IOException {
        int bytes = Long.BYTES + fields * Integer.BYTES;
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ)) {
            int rows = Math.toIntExact(file.size() / bytes);
            ts = new long[rows];
            columns = new int[fields][rows];
            ByteBuffer from =
                    ByteBuffer.allocateDirect(ROWS_AT_A_TIME * bytes).order(ByteOrder.LITTLE_ENDIAN);
            for (int row = 0; row < rows; ) {
                while (from.hasRemaining() && file.read(from) >= 0) {}
                from.flip();
                for (; from.remaining() >= bytes; row++) {
                    ts[row] = from.getLong();
                    for (int[] column : columns) {
                        column[row] = from.getInt();
                    }
                }
                from.compact();
            }
        }
    }

    public int get(int column, int row) {
        return columns[column][row];
    }
}
