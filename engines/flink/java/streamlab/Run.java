package streamlab;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.LongAdder;

/**
 * State that the tasks of one Flink job share: the input, the gate that stops the sources until the clock
 * starts, and the outputs and times.
 *
 * <p>In the trial's own process all tasks share one object. On a cluster each task manager has its own
 * object, which reads the input from the trial's folder; the processes signal each other through files
 * there. Flink serializes jobs, so functions carry the id and look the run up here. A cluster loads this
 * class anew for each job.
 */
final class Run {
    /** Identifies a run by the job's folder and the number of the run in the trial. */
    record Id(String folder, int number, boolean warmUp) implements Serializable {}

    private static final Map<Id, Run> RUNS = new ConcurrentHashMap<>();
    private static final String GATE = "gate";
    private static final int POLL_MS = 2;

    final Job job;
    /** Number of rows read from each stream. */
    final int[] rows;
    /** Whether events arrive when they are due; a warm-up runs at full speed. */
    final boolean paced;
    /** Completed when the clock starts. */
    final CompletableFuture<Void> gate = new CompletableFuture<>();
    /** Set before the gate opens; 0 for a load through a broker, because only its generator knows the start. */
    volatile long startNs;
    /** The service, or its RMI stub, that tasks of variant `manual` call; null in other variants. */
    volatile ForkJoin service;
    /** The service itself; this reference keeps it alive, because RMI does not. */
    volatile ForkJoin.Service served;
    /** When each event was handed over, by stream and row; null at full speed and from a broker. */
    final long[][] sentNs;
    /** When each event was finished; null at full speed. */
    final long[][] doneNs;
    /** Number of events that came from a broker. */
    final LongAdder received = new LongAdder();
    /** Number of records that came from a broker. */
    final LongAdder records = new LongAdder();
    /** Under a load, how often a source has read the last record of a partition. */
    final LongAdder ends = new LongAdder();
    /** The final value of `ends`. */
    final LongAdder expectedEnds = new LongAdder();
    /** Null on a cluster, where Flink aligns the sources. */
    final Alignment alignment;

    /** The run's files. */
    private final Path folder;
    /** Signals between the processes of a cluster; null in the trial's own process. */
    private final Marks marks;
    private final Map<Integer, Part> parts = new ConcurrentHashMap<>();
    /** Number of events that each ended task of a source has handed over. */
    private final Map<Integer, Long> handedOver = new ConcurrentHashMap<>();
    private final CompletableFuture<Void> allRows = new CompletableFuture<>();
    private final Map<Integer, Boolean> completeParts = new ConcurrentHashMap<>();
    private volatile Plans.Tasks tasks;

    private Run(Id id, Job job) {
        this.job = job;
        rows = job.rows(id.warmUp);
        paced = job.offered && !id.warmUp;
        sentNs = paced && job.topics == null ? perEvent() : null;
        doneNs = paced ? perEvent() : null;
        folder = job.folder.resolve("run-" + id.number);
        marks = job.onCluster() ? new Marks(folder) : null;
        alignment = job.onCluster() ? null : new Alignment(job, rows);
    }

    /** Creates a run in the trial's process, and its folder. */
    static Run create(Id id, Job job) throws IOException {
        Run run = new Run(id, job);
        Files.createDirectory(run.folder);
        if (run.marks != null) {
            run.marks.create(GATE);
        }
        RUNS.put(id, run);
        return run;
    }

    static Run of(Id id) {
        return RUNS.computeIfAbsent(id, Run::arrive);
    }

    /** Creates the object of a task manager, which waits for the gate. */
    private static Run arrive(Id id) {
        Path folder = Path.of(id.folder);
        try {
            if (!Files.exists(folder.resolve("job.properties"))) {
                throw new IllegalStateException(
                        "node " + hostName() + " does not see " + folder
                                + "; set LAB_SHARED to a folder that all nodes see under one path");
            }
            Run run = new Run(id, new Job(folder));
            Thread thread = new Thread(run::awaitGate, "gate");
            thread.setDaemon(true);
            thread.start();
            return run;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static String hostName() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException error) {
            return error.getMessage();
        }
    }

    private void awaitGate() {
        try {
            while (marks.get(GATE) == 0) {
                Thread.sleep(POLL_MS);
            }
            gate.complete(null);
        } catch (IOException | InterruptedException error) { // The trial has ended.
            gate.completeExceptionally(error);
        }
    }

    static void forget(Id id) {
        RUNS.remove(id);
    }

    /** Prepares for the signals of all tasks; called before they are deployed. */
    void expect(Plans.Tasks all) throws IOException {
        tasks = all;
        if (marks != null) {
            for (int source = 0; source < all.sources(); source++) {
                marks.create("source-" + source);
            }
            for (int sink = 0; sink < all.sinks(); sink++) {
                marks.create("sink-" + sink);
            }
        }
    }

    /** Returns whether the sources never end, because the number of a load's records is unknown. */
    boolean isEndless() {
        return paced && job.topics != null;
    }

    void start() throws IOException {
        startNs = isEndless() ? 0 : System.nanoTime();
        if (marks != null) {
            marks.set(GATE, 1);
        }
        gate.complete(null);
    }

    long nowNs() {
        return System.nanoTime() - startNs;
    }

    /** Returns a container for the rows of a sink's task; under a load each row has its time of arrival. */
    Part newPart(int sink, int rowBytes) throws IOException {
        boolean inFile = job.onCluster() || job.checkpointMs > 0;
        Path path = inFile ? folder.resolve(sink + ".part") : null;
        Part part = new Part(sink, rowBytes + (paced ? Long.BYTES : 0), path);
        parts.put(sink, part);
        return part;
    }

    /** Records that a task of a sink has all its rows. */
    void partIsComplete(int sink) throws IOException {
        if (marks != null) {
            marks.set("sink-" + sink, 1);
            return;
        }
        completeParts.put(sink, true);
        if (completeParts.size() == tasks.sinks()) {
            allRows.complete(null);
        }
    }

    /** Records that a task of a source has handed over all its events. */
    void sourceIsComplete(int source, long events) throws IOException {
        if (marks != null) {
            marks.set("source-" + source, events);
        } else {
            handedOver.put(source, events);
        }
    }

    /** Waits until all tasks of sinks have all their rows, or the job has ended. */
    void awaitRows(CompletableFuture<?> end) throws Exception {
        if (marks == null) {
            if (job.topics == null) {
                CompletableFuture.anyOf(allRows, end).get();
            } else {
                awaitBroker(CompletableFuture.anyOf(allRows, end));
            }
            return;
        }
        for (int sink = 0; sink < tasks.sinks(); sink++) {
            while (marks.get("sink-" + sink) == 0 && !end.isDone()) {
                Thread.sleep(POLL_MS);
            }
        }
    }

    /** Waits for an end, or fails if the broker has died; Flink would wait for ever. */
    private void awaitBroker(CompletableFuture<?> end) throws Exception {
        long seen = -1;
        long heardNs = 0;
        while (true) {
            try {
                end.get(1, TimeUnit.SECONDS);
                return;
            } catch (TimeoutException none) {
                if (records.sum() != seen) {
                    seen = records.sum();
                    heardNs = System.nanoTime();
                }
                if (received.sum() < job.topics.rows() || ends.sum() < expectedEnds.sum()) {
                    job.topics.checkHeard(heardNs, received + " of " + job.topics.rows() + " rows");
                }
            }
        }
    }

    /** Returns the number of events that sources have handed over, once all have ended. */
    long events() throws IOException {
        if (job.topics != null) {
            return received.sum();
        }
        long sum = 0;
        for (int source = 0; source < tasks.sources(); source++) {
            sum += marks == null ? handedOver.getOrDefault(source, 0L) : marks.get("source-" + source);
        }
        return sum;
    }

    /** Writes all rows to the job's folder, one file per task of a sink, and the times of a load. */
    int write() throws IOException {
        for (int sink = 0; sink < tasks.sinks(); sink++) {
            Path path = job.folder.resolve(sink + ".part");
            if (Files.exists(folder.resolve(sink + ".part"))) {
                Files.move(folder.resolve(sink + ".part"), path);
            } else {
                parts.get(sink).write(path);
            }
        }
        if (paced) {
            for (int index = 0; index < rows.length; index++) {
                if (sentNs != null) {
                    Part.write(job.folder.resolve(index + ".sent_ns"), sentNs[index]);
                }
                Part.write(job.folder.resolve(index + ".done_ns"), doneNs[index]);
            }
        }
        return tasks.sinks();
    }

    private long[][] perEvent() {
        long[][] times = new long[rows.length][];
        for (int index = 0; index < rows.length; index++) {
            times[index] = new long[rows[index]];
            Arrays.fill(times[index], -1);
        }
        return times;
    }
}
