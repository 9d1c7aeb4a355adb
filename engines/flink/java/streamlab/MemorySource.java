package streamlab;

import java.io.IOException;
import java.io.Serializable;
import java.time.Duration;
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
 * <p>Each task has one split from its start, its share of the streams, and reads it before the clock
 * starts. The enumerator therefore assigns nothing. Checkpoints include the positions.
 */
final class MemorySource implements Source<Event, MemorySource.Share, Integer> {
    /**
     * Average number of input events by which one source may be ahead on a cluster. Flink compares the
     * sources 50 times a second; a source must not run out of events in between.
     */
    private static final long MOST_EVENTS = 1 << 20;

    private static final Duration COMPARE_EVERY = Duration.ofMillis(20);

    private final Run.Id run;
    private final int kinds;
    private final int first;
    private final int tasks;

    private MemorySource(Run.Id run, int kinds, int first, int tasks) {
        this.run = run;
        this.kinds = kinds;
        this.first = first;
        this.tasks = tasks;
    }

    /**
     * Adds a source of the events of some kinds (one bit each), with a number of tasks; `first` is the
     * number of its first task among those of all sources.
     */
    static SingleOutputStreamOperator<Event> of(
            StreamExecutionEnvironment env,
            Job job,
            Run.Id run,
            int kinds,
            int first,
            int tasks,
            String name) {
        WatermarkStrategy<Event> strategy =
                WatermarkStrategy.noWatermarks(); // The reader emits watermarks.
        // A source of few events may end early, and Flink cannot restore an aligned source that has ended.
        if (job.onCluster() && (kinds >> Kind.BULK & 1) != 0) {
            Duration ahead = Duration.ofMillis(job.timeOf(MOST_EVENTS));
            strategy = strategy.withWatermarkAlignment("events", ahead, COMPARE_EVERY);
        }
        return env.fromSource(
                        new MemorySource(run, kinds, first, tasks),
                        strategy,
                        name,
                        TypeInformation.of(Event.class))
                .setParallelism(tasks);
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.CONTINUOUS_UNBOUNDED;
    }

    @Override
    public SourceReader<Event, Share> createReader(SourceReaderContext context) throws IOException {
        return new MemoryReader(Run.of(run), kinds, context.getIndexOfSubtask(), first, tasks);
    }

    @Override
    public SplitEnumerator<Share, Integer> createEnumerator(SplitEnumeratorContext<Share> context) {
        return new NoEnumerator();
    }

    @Override
    public SplitEnumerator<Share, Integer> restoreEnumerator(
            SplitEnumeratorContext<Share> context, Integer checkpoint) {
        return new NoEnumerator();
    }

    @Override
    public SimpleVersionedSerializer<Share> getSplitSerializer() {
        return new Serializer<>();
    }

    @Override
    public SimpleVersionedSerializer<Integer> getEnumeratorCheckpointSerializer() {
        return new Serializer<>();
    }

    /** A task's share of the streams: the next row of each, and the progress so far. */
    record Share(int task, int[] next, int beat, long lastTs, long handedOver)
            implements SourceSplit, Serializable {
        @Override
        public String splitId() {
            return "share-" + task;
        }
    }

    private static final class NoEnumerator implements SplitEnumerator<Share, Integer> {
        @Override
        public void start() {}

        @Override
        public void handleSplitRequest(int task, String host) {}

        @Override
        public void addSplitsBack(List<Share> splits, int task) {}

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
