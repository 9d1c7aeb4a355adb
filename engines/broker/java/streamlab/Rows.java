package streamlab;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** The rows of a record, of which one is the next (engines/broker/records.py). */
final class Rows {
    static final int HEADER_BYTES = 40;
    private static final int MAGIC = 0x3142414c; // "LAB1", as a little-endian number

    final boolean end;
    final long promise;
    private final Topics.Topic topic;
    private final ByteBuffer bytes;
    private final int kinds;
    private int at = HEADER_BYTES;

    Rows(Topics topics, Topics.Topic topic, byte[] record, String place) {
        this.topic = topic;
        kinds = topics.kinds;
        if (record == null || record.length < HEADER_BYTES || !ours(topics, topic, record)) {
            throw new IllegalStateException(
                    place + " was not written by the lab for this dataset; delete the topic, and the next"
                            + " trial writes it again");
        }
        bytes = ByteBuffer.wrap(record).order(ByteOrder.LITTLE_ENDIAN);
        end = bytes.getInt(4) == 1;
        promise = bytes.getLong(32);
    }

    private static boolean ours(Topics topics, Topics.Topic topic, byte[] record) {
        ByteBuffer bytes = ByteBuffer.wrap(record).order(ByteOrder.LITTLE_ENDIAN);
        return bytes.getInt(0) == MAGIC
                && topics.dataset.equals(new String(record, 8, 16, StandardCharsets.US_ASCII))
                && bytes.getInt(24) == topic.stream()
                && record.length == HEADER_BYTES + bytes.getInt(28) * topic.rowBytes();
    }

    /** Returns the number of the last row, after checking that the first comes after row `last` of the partition. */
    int after(int last, String place) {
        if (row() <= last) {
            throw new IllegalStateException(
                    place + " has row " + row() + " after row " + last + "; delete the topic, and the next trial"
                            + " writes it again");
        }
        return (int) bytes.getLong(bytes.limit() - topic.rowBytes());
    }

    boolean isEmpty() {
        return at == bytes.limit();
    }

    void next() {
        at += topic.rowBytes();
    }

    int row() {
        return (int) bytes.getLong(at);
    }

    long ts() {
        return bytes.getLong(at + 16);
    }

    long lastTs() {
        return bytes.getLong(bytes.limit() - topic.rowBytes() + 16);
    }

    int kind() {
        return topic.tag() < 0 ? topic.kind() : bytes.getInt(at + topic.tag()) % kinds;
    }

    int key() {
        return topic.tag() < 0 ? 0 : bytes.getInt(at + topic.tag()) / kinds;
    }

    /** The value of the row's kind; its lowest bit says whether it has eight bytes. */
    long value(int kind) {
        int place = topic.value()[kind];
        if (place < 0) {
            return 0;
        }
        return (place & 1) == 1 ? bytes.getLong(at + (place >> 1)) : bytes.getInt(at + (place >> 1));
    }
}
