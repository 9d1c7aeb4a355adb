package streamlab;

import java.util.List;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * Reads the streams of the input from memory; task i modulo the number of tasks reads stream i. Only
 * events of some kinds are read.
 *
 * <p>The enumerator has no splits, since the assignment is fixed and recovery is not supported.
 */
final class MemorySource implements Source<Event, MemorySource.NoSplit, Integer> {
    private final int run;
    private final int kinds;
    private final int tasks;

    private MemorySource(int run, int kinds, int tasks) {
        this.run = run;
        this.kinds = kinds;
        this.tasks = tasks;
    }

    /** Adds a source of the events of some kinds (one bit each), with a number of tasks. */
    static SingleOutputStreamOperator<Event> of(
            StreamExecutionEnvironment env, int run, int kinds, int tasks, String name) {
        return env.fromSource(
                        new MemorySource(run, kinds, tasks),
                        WatermarkStrategy.noWatermarks(), // The reader emits watermarks.
                        name,
                        TypeInformation.of(Event.class))
                .setParallelism(tasks);
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.CONTINUOUS_UNBOUNDED;
    }

    @Override
    public SourceReader<Event, NoSplit> createReader(SourceReaderContext context) {
        return new MemoryReader(Run.of(run), kinds, context.getIndexOfSubtask(), tasks);
    }

    @Override
    public SplitEnumerator<NoSplit, Integer> createEnumerator(
            SplitEnumeratorContext<NoSplit> context) {
        return new NoEnumerator();
    }

    @Override
    public SplitEnumerator<NoSplit, Integer> restoreEnumerator(
            SplitEnumeratorContext<NoSplit> context, Integer checkpoint) {
        return new NoEnumerator();
    }

    @Override
    public SimpleVersionedSerializer<NoSplit> getSplitSerializer() {
        return new Nothing<>();
    }

    @Override
    public SimpleVersionedSerializer<Integer> getEnumeratorCheckpointSerializer() {
        return new Nothing<>();
    }

    static final class NoSplit implements SourceSplit {
        @Override
        public String splitId() {
            return "none";
        }
    }

    private static final class Nothing<T> implements SimpleVersionedSerializer<T> {
        @Override
        public int getVersion() {
            return 0;
        }

        @Override
        public byte[] serialize(T none) {
            return new byte[0];
        }

        @Override
        public T deserialize(int version, byte[] bytes) {
            throw new UnsupportedOperationException("recovery is not supported");
        }
    }

    private static final class NoEnumerator implements SplitEnumerator<NoSplit, Integer> {
        @Override
        public void start() {}

        @Override
        public void handleSplitRequest(int task, String host) {}

        @Override
        public void addSplitsBack(List<NoSplit> splits, int task) {}

        @Override
        public void addReader(int task) {}

        @Override
        public Integer snapshotState(long checkpoint) {
            return 0;
        }

        @Override
        public void close() {}
    }
}
