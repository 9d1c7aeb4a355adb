package streamlab;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Iterates over the rows of a record (engines/broker/records.py). */
final class Rows {
    static final int HEADER_BYTES = 40;
    private static final int MAGIC = 0x3142414c; // "LAB1", as a little-endian number

    final boolean end;
    final long promise;
    private final Topics.Topic topic;
    private final ByteBuffer bytes;
    private final int kinds;
    private int offset = HEADER_BYTES;

    Rows(Topics topics, Topics.Topic topic, byte[] record, String place) {
        this.topic = topic;
        kinds = topics.kinds;
        if (record == null || record.length < HEADER_BYTES || !isOurs(topics, topic, record)) {
            throw new IllegalStateException(
                    place + " was not written by the lab for this dataset; delete the topic, and the next"
                            + " trial writes it again");
        }
        bytes = ByteBuffer.wrap(record).order(ByteOrder.LITTLE_ENDIAN);
        end = bytes.getInt(4) == 1;
        promise = bytes.getLong(32);
    }

    private static boolean isOurs(Topics topics, Topics.Topic topic, byte[] record) {
        ByteBuffer bytes = ByteBuffer.wrap(record).order(ByteOrder.LITTLE_ENDIAN);
        return bytes.getInt(0) == MAGIC
                && topics.dataset.equals(new String(record, 8, 16, StandardCharsets.US_ASCII))
                && bytes.getInt(24) == topic.stream()
                && record.length == HEADER_BYTES + bytes.getInt(28) * topic.rowBytes();
    }

    /** Checks that the first row comes after row `last` of the partition, and returns the number of the last row. */
    int after(int last, String place) {
        if (row() <= last) {
            throw new IllegalStateException(
                    place + " has row " + row() + " after row " + last + "; delete the topic, and the next trial"
                            + " writes it again");
        }
        return (int) bytes.getLong(bytes.limit() - topic.rowBytes());
    }

    boolean isEmpty() {
        return offset == bytes.limit();
    }

    void next() {
        offset += topic.rowBytes();
    }

    int row() {
        return (int) bytes.getLong(offset);
    }

    long ts() {
        return bytes.getLong(offset + 16);
    }

    long lastTs() {
        return bytes.getLong(bytes.limit() - topic.rowBytes() + 16);
    }

    int kind() {
        return topic.tag() < 0 ? topic.kind() : bytes.getInt(offset + topic.tag()) % kinds;
    }

    int key() {
        return topic.tag() < 0 ? 0 : bytes.getInt(offset + topic.tag()) / kinds;
    }

    /** Returns the row's value, or 0 if its kind has none. A place is 2 x (first byte) + (1 if it has eight bytes). */
    long value(int kind) {
        int place = topic.value()[kind];
        if (place < 0) {
            return 0;
        }
        return (place & 1) == 1 ? bytes.getLong(offset + (place >> 1)) : bytes.getInt(offset + (place >> 1));
    }
}
