package streamlab;

import java.io.IOException;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.types.CopyableValue;

/**
 * An event. Its place in the total order of the input is (ts, stream, row).
 *
 * <p>Flink serializes a `CopyableValue` with the least overhead: exactly these bytes.
 */
public final class Event implements CopyableValue<Event> {
    private static final int BYTES = 8 + 2 + 4 + 1 + 4 + 8;

    public long ts;
    /** Index of the stream; two bytes on the wire, since streams are few. */
    public int stream;
    public int row;
    public int kind;
    public int key;
    public long value;

    @Override
    public void write(DataOutputView out) throws IOException {
        out.writeLong(ts);
        out.writeShort(stream);
        out.writeInt(row);
        out.writeByte(kind);
        out.writeInt(key);
        out.writeLong(value);
    }

    @Override
    public void read(DataInputView in) throws IOException {
        ts = in.readLong();
        stream = in.readShort();
        row = in.readInt();
        kind = in.readByte();
        key = in.readInt();
        value = in.readLong();
    }

    @Override
    public int getBinaryLength() {
        return BYTES;
    }

    @Override
    public void copyTo(Event other) {
        other.ts = ts;
        other.stream = stream;
        other.row = row;
        other.kind = kind;
        other.key = key;
        other.value = value;
    }

    @Override
    public Event copy() {
        Event copy = new Event();
        copyTo(copy);
        return copy;
    }

    @Override
    public void copy(DataInputView from, DataOutputView to) throws IOException {
        to.write(from, BYTES);
    }
}
