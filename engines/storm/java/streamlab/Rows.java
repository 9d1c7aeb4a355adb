package streamlab;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A stream of the input as columns in memory. */
final class Rows {
    /** Bytes of a row in a file, as the adapter writes it. */
    private static final int BYTES = 24;
    private static final int ROWS_AT_A_TIME = 1 << 16;

    final long[] ts;
    final int[] vehicle;
    private final byte[] type;
    private final short[] speed;
    private final short[] expressway;
    private final byte[] lane;
    private final byte[] direction;
    private final byte[] segment;
    private final int[] position;

    Rows(Path path) throws IOException {
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ)) {
            int rows = Math.toIntExact(file.size() / BYTES);
            ts = new long[rows];
            vehicle = new int[rows];
            type = new byte[rows];
            speed = new short[rows];
            expressway = new short[rows];
            lane = new byte[rows];
            direction = new byte[rows];
            segment = new byte[rows];
            position = new int[rows];
            ByteBuffer from =
                    ByteBuffer.allocateDirect(ROWS_AT_A_TIME * BYTES).order(ByteOrder.LITTLE_ENDIAN);
            for (int row = 0; row < rows; ) {
                while (from.hasRemaining() && file.read(from) >= 0) {}
                from.flip();
                for (; from.remaining() >= BYTES; row++) {
                    read(from, row);
                }
                from.compact();
            }
        }
    }

    private void read(ByteBuffer from, int row) {
        ts[row] = from.getLong();
        type[row] = from.get();
        vehicle[row] = from.getInt();
        speed[row] = from.getShort();
        expressway[row] = from.getShort();
        lane[row] = from.get();
        direction[row] = from.get();
        segment[row] = from.get();
        position[row] = from.getInt();
    }

    Event event(int row, long order, long handedOverNs) {
        return new Event(
                Event.DATA,
                order,
                handedOverNs,
                type[row],
                vehicle[row],
                speed[row],
                expressway[row],
                lane[row],
                direction[row],
                segment[row],
                position[row]);
    }
}
