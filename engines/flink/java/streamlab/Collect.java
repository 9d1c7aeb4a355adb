package streamlab;

import java.io.IOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.StatefulSinkWriter;
import org.apache.flink.api.connector.sink2.SupportsWriterState;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/**
 * Stores all rows; the run ends when every task of the sink has all its rows. After a failure, rows that no
 * checkpoint includes are removed, and arrive again.
 */
final class Collect<T> implements Sink<T>, SupportsWriterState<T, Collect.Stored> {
    /** Writes a row in its layout. */
    interface Layout<T> extends Serializable {
        void put(T row, ByteBuffer to);
    }

    /** The rows of a task at a checkpoint, as a number of bytes. */
    record Stored(int sink, long bytes) implements Serializable {}

    private final Run.Id run;
    /** The number of the first task of this sink among those of all sinks. */
    private final int first;
    private final int rowBytes;
    private final Layout<T> layout;

    Collect(Run.Id run, int first, int rowBytes, Layout<T> layout) {
        this.run = run;
        this.first = first;
        this.rowBytes = rowBytes;
        this.layout = layout;
    }

    @Override
    public Writer<T> createWriter(WriterInitContext context) throws IOException {
        return restoreWriter(context, List.of());
    }

    @Override
    public Writer<T> restoreWriter(WriterInitContext context, Collection<Stored> states)
            throws IOException {
        int sink = first + context.getTaskInfo().getIndexOfThisSubtask();
        long bytes = 0;
        for (Stored state : states) {
            if (state.sink != sink) {
                throw new IOException("task " + sink + " got the state of " + state.sink);
            }
            bytes = state.bytes;
        }
        Run shared = Run.of(run);
        Part part = shared.newPart(sink, rowBytes);
        part.truncate(bytes);
        return new Writer<>(shared, part, layout);
    }

    @Override
    public SimpleVersionedSerializer<Stored> getWriterStateSerializer() {
        return new Serializer<>();
    }

    static final class Writer<T> implements StatefulSinkWriter<T, Stored> {
        private final Run run;
        private final Layout<T> layout;
        private final Part part;

        Writer(Run run, Part part, Layout<T> layout) {
            this.run = run;
            this.part = part;
            this.layout = layout;
        }

        @Override
        public void write(T row, Context context) throws IOException {
            ByteBuffer place = part.next();
            layout.put(row, place);
            if (run.paced) {
                place.putLong(run.nowNs());
            }
        }

        /** Completes the part at the end of time: the sources of an endless job then have no further events. */
        @Override
        public void writeWatermark(Watermark mark) throws IOException {
            if (run.isEndless() && mark.getTimestamp() == Long.MAX_VALUE) {
                run.partIsComplete(part.sink);
            }
        }

        @Override
        public List<Stored> snapshotState(long checkpoint) throws IOException {
            return List.of(new Stored(part.sink, part.store()));
        }

        @Override
        public void flush(boolean endOfInput) throws IOException {
            if (endOfInput) {
                if (part.isInFile()) {
                    part.flush();
                }
                run.partIsComplete(part.sink);
            }
        }

        @Override
        public void close() throws IOException {
            part.close();
        }
    }
}
