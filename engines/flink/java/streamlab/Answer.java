package streamlab;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.types.CopyableValue;

/**
 * A row of the answer. `stream` and `row` identify the event that made it; the workload defines the
 * meaning of the other fields.
 */
public final class Answer implements CopyableValue<Answer> {
    static final int BYTES = 8 + 4 + 4 + 4 + 4 + 8 + 8;

    public long ts;
    public int stream;
    public int row;
    public int kind;
    public int key;
    public long value;
    public long other;

    /** Sets the place of this row to the place of the event that makes it. */
    public Answer madeBy(Event event) {
        ts = event.ts;
        stream = event.stream;
        row = event.row;
        return this;
    }

    /** Writes this row for Python. */
    void put(ByteBuffer to) {
        to.putLong(ts).putInt(stream).putInt(row).putInt(kind).putInt(key);
        to.putLong(value).putLong(other);
    }

    @Override
    public void write(DataOutputView out) throws IOException {
        out.writeLong(ts);
        out.writeInt(stream);
        out.writeInt(row);
        out.writeInt(kind);
        out.writeInt(key);
        out.writeLong(value);
        out.writeLong(other);
    }

    @Override
    public void read(DataInputView in) throws IOException {
        ts = in.readLong();
        stream = in.readInt();
        row = in.readInt();
        kind = in.readInt();
        key = in.readInt();
        value = in.readLong();
        other = in.readLong();
    }

    @Override
    public int getBinaryLength() {
        return BYTES;
    }

    @Override
    public void copyTo(Answer target) {
        target.ts = ts;
        target.stream = stream;
        target.row = row;
        target.kind = kind;
        target.key = key;
        target.value = value;
        target.other = other;
    }

    @Override
    public Answer copy() {
        Answer copy = new Answer();
        copyTo(copy);
        return copy;
    }

    @Override
    public void copy(DataInputView from, DataOutputView to) throws IOException {
        to.write(from, BYTES);
    }
}
