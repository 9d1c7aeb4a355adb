package streamlab;

import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;

/** Stores all rows in memory; the run ends when every task of the sink has all its rows. */
final class Collect implements Sink<Answer> {
    private final int run;

    Collect(int run) {
        this.run = run;
    }

    @Override
    public SinkWriter<Answer> createWriter(WriterInitContext context) {
        return new Writer(Run.of(run));
    }

    private static final class Writer implements SinkWriter<Answer> {
        private final Run run;
        private final Part part;

        Writer(Run run) {
            this.run = run;
            part = run.newPart();
        }

        @Override
        public void write(Answer row, Context context) {
            part.add(row, run.paced ? run.nowNs() : 0);
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
