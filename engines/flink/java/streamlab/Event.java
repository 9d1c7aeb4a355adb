package streamlab;

import java.io.IOException;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.types.CopyableValue;

/**
 * An event of a program with DGS. Its place in the total order of the input is (ts, stream, row).
 *
 * <p>A `CopyableValue` is what Flink serializes with the least ado: these bytes and no others.
 */
public final class Event implements CopyableValue<Event> {
    private static final int BYTES = 8 + 2 + 4 + 1 + 4 + 8;

    public long ts;
    /** Which stream of the input; streams are few, so two bytes on the wire. */
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
        Event made = new Event();
        copyTo(made);
        return made;
    }

    @Override
    public void copy(DataInputView from, DataOutputView to) throws IOException {
        to.write(from, BYTES);
    }
}
