package streamlab;

import java.io.Serializable;
import java.nio.ByteBuffer;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;

/** Stores all rows in memory; the run ends when every task of the sink has all its rows. */
final class Collect<T> implements Sink<T> {
    /** Writes a row in its layout. */
    interface Layout<T> extends Serializable {
        void put(T row, ByteBuffer to);
    }

    private final int run;
    private final int rowBytes;
    private final Layout<T> layout;

    Collect(int run, int rowBytes, Layout<T> layout) {
        this.run = run;
        this.rowBytes = rowBytes;
        this.layout = layout;
    }

    @Override
    public SinkWriter<T> createWriter(WriterInitContext context) {
        return new Writer<>(Run.of(run), rowBytes, layout);
    }

    private static final class Writer<T> implements SinkWriter<T> {
        private final Run run;
        private final Layout<T> layout;
        private final Part part;

        Writer(Run run, int rowBytes, Layout<T> layout) {
            this.run = run;
            this.layout = layout;
            part = run.newPart(rowBytes);
        }

        @Override
        public void write(T row, Context context) {
            ByteBuffer place = part.next();
            layout.put(row, place);
            if (run.paced) {
                place.putLong(run.nowNs());
            }
        }

        @Override
        public void flush(boolean endOfInput) {
            if (endOfInput) {
                run.partIsComplete();
            }
        }

        @Override
        public void close() {}
    }
}
