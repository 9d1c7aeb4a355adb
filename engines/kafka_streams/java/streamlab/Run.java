package streamlab;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/** One run of a topology, which is paused until `run` and ends after its last record. */
final class Run implements AutoCloseable {
    private static final long START_S = 60;

    final Job job;
    private final boolean timed;
    private final KafkaStreams streams;
    final int tasks;
    private final CountDownLatch running = new CountDownLatch(1);
    private final CountDownLatch left;
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final Map<Integer, Collect> parts = new ConcurrentSkipListMap<>();
    private final Map<Integer, Collect> bounds = new ConcurrentSkipListMap<>();
    private final AtomicInteger records = new AtomicInteger();
    private final LongAdder rows = new LongAdder();
    /** Under a load, when each row was done, or taken by the first step of a query; each row has one writer. */
    private final long[][] doneNs;
    private volatile long startNs;

    Run(Job job, int round, boolean timed) {
        this.job = job;
        this.timed = timed;
        doneNs = new long[job.topics.topics.length][];
        for (Topics.Topic topic : job.topics.topics) {
            doneNs[topic.stream()] = new long[timed ? topic.rows() : 0];
        }
        Topologies topologies = new Topologies(this);
        tasks = topologies.tasks();
        left = new CountDownLatch(topologies.ends());
        streams = new KafkaStreams(topologies.topology(), settings(round));
        streams.setUncaughtExceptionHandler(
                error -> {
                    failure.compareAndSet(null, root(error));
                    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
                });
        streams.setStateListener(
                (now, before) -> {
                    if (now == KafkaStreams.State.RUNNING) {
                        running.countDown();
                    }
                });
        streams.pause();
        streams.start();
    }

    private static Throwable root(Throwable error) {
        return error.getCause() == null ? error : root(error.getCause());
    }

    void awaitTasks() throws Exception {
        if (!running.await(START_S, TimeUnit.SECONDS)) {
            check();
            throw new IllegalStateException("the broker at " + job.topics.broker + " did not assign the topics within 60 s");
        }
        // Threads join one after the other, and tasks move to them. During the run, tasks would lose their state.
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_S);
        while (!isAssigned()) {
            check();
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("Kafka Streams did not assign its tasks to all threads within 60 s");
            }
            Thread.sleep(20);
        }
    }

    private boolean isAssigned() {
        int active = 0;
        int least = Integer.MAX_VALUE;
        for (ThreadMetadata thread : streams.metadataForLocalThreads()) {
            active += thread.activeTasks().size();
            least = Math.min(least, thread.activeTasks().size());
        }
        return active == tasks && least == tasks / job.workers;
    }

    /** Processes all records and returns the duration in ns; arrival times count from `startNs`. */
    long run(long startNs) throws Exception {
        this.startNs = startNs;
        long begin = System.nanoTime();
        streams.resume();
        int seen = -1;
        long heard = begin;
        while (!left.await(20, TimeUnit.MILLISECONDS)) {
            check();
            if (records.get() != seen) {
                seen = records.get();
                heard = System.nanoTime();
            }
            job.topics.checkHeard(heard, seen + " records");
        }
        check();
        long tookNs = System.nanoTime() - begin;
        job.topics.checkRows(rows.sum());
        return tookNs;
    }

    private void check() {
        Throwable error = failure.get();
        if (error != null) {
            throw new IllegalStateException(error.getMessage(), error);
        }
    }

    Collect collect(int partition) {
        return parts.computeIfAbsent(partition, each -> new Collect(timed));
    }

    /** Returns the container for the progress of the last step's task with this partition. */
    Collect bounds(int partition) {
        return bounds.computeIfAbsent(partition, each -> new Collect(timed));
    }

    /** Returns the arrival time of a row that arrives now. */
    long arrival() {
        return (System.nanoTime() - startNs) / job.arrivalTickNs;
    }

    void record() {
        records.incrementAndGet();
    }

    void done(int stream, int row) {
        rows.increment();
        if (timed) {
            doneNs[stream][row] = System.nanoTime();
        }
    }

    void ended() {
        left.countDown();
    }

    int write() throws IOException {
        int written = 0;
        for (Collect part : parts.values()) {
            part.write(job.folder.resolve(written++ + ".part"));
        }
        int tasksOfBounds = 0;
        for (Collect part : bounds.values()) {
            part.write(job.folder.resolve(tasksOfBounds++ + ".bounds"));
        }
        for (int stream = 0; timed && stream < doneNs.length; stream++) {
            ByteBuffer bytes =
                    ByteBuffer.allocate(8 * doneNs[stream].length).order(ByteOrder.LITTLE_ENDIAN);
            bytes.asLongBuffer().put(doneNs[stream]);
            Path path = job.folder.resolve(stream + ".done_ns");
            Files.write(path, bytes.array());
        }
        return written;
    }

    @Override
    public void close() {
        streams.close(Duration.ofSeconds(10));
    }

    private Properties settings(int round) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, job.application + "-" + round);
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, job.topics.broker);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, job.workers);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, job.folder.resolve("state").toString());
        // A record has up to 1,000 rows. This limits the rows fetched before the clock starts.
        settings.put(StreamsConfig.BUFFERED_RECORDS_PER_PARTITION_CONFIG, 16);
        // For repartition topics. The default of 100 ms would add to each latency.
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 5);
        settings.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 1 << 18);
        return settings;
    }
}
