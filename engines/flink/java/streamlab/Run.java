package streamlab;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.LongAdder;

/**
 * The state that all tasks of one Flink job share in this process: the input, the gate that stops
 * the sources until the clock starts, and the outputs and times.
 *
 * <p>Flink serializes jobs, so functions carry the number of a run and look it up here.
 */
final class Run {
    private static final Map<Integer, Run> RUNS = new ConcurrentHashMap<>();

    final Job job;
    /** Number of rows read from each stream. */
    final int[] rows;
    /** Whether events arrive when they are due; a warm-up runs at full speed. */
    final boolean paced;
    /** Completed when the clock starts. */
    final CompletableFuture<Void> gate = new CompletableFuture<>();
    /** Set before the gate opens. */
    volatile long startNs;
    /** The service as called by tasks of variant `manual`; else null. */
    volatile ForkJoin service;
    /** The service itself; this reference keeps it alive, since RMI does not. */
    volatile ForkJoin.Service served;
    /** When each event was handed over and finished, by stream and row; null at full speed. */
    final long[][] sentNs;
    final long[][] doneNs;
    final Alignment alignment;
    /** Events that sources have handed over; each source adds its count at its end. */
    final LongAdder handedOver = new LongAdder();
    private final List<Part> parts = new ArrayList<>();
    private final Semaphore finished = new Semaphore(0);

    Run(int number, Job job, boolean warmUp) {
        this.job = job;
        this.rows = job.rows(warmUp);
        this.paced = job.offered && !warmUp;
        this.sentNs = paced ? perEvent() : null;
        this.doneNs = paced ? perEvent() : null;
        this.alignment = new Alignment(job.streams, rows);
        RUNS.put(number, this);
    }

    static Run of(int number) {
        return RUNS.get(number);
    }

    static void forget(int number) {
        RUNS.remove(number);
    }

    void start() {
        startNs = System.nanoTime();
        gate.complete(null);
    }

    long nowNs() {
        return System.nanoTime() - startNs;
    }

    /** Returns a new container for the rows of a sink's task; under a load each has its time of arrival. */
    Part newPart(int rowBytes) {
        Part part = new Part(rowBytes + (paced ? Long.BYTES : 0));
        synchronized (parts) {
            parts.add(part);
        }
        return part;
    }

    void partIsComplete() {
        finished.release();
    }

    /** Waits until `count` tasks of sinks have all their rows. */
    void awaitParts(int count) throws InterruptedException {
        finished.acquire(count);
    }

    /** Writes all rows, one file per task of a sink, and the times of a load. */
    int write(Path folder) throws IOException {
        synchronized (parts) {
            for (int index = 0; index < parts.size(); index++) {
                parts.get(index).write(folder.resolve(index + ".part"));
            }
            if (paced) {
                for (int index = 0; index < rows.length; index++) {
                    Part.write(folder.resolve(index + ".sent_ns"), sentNs[index]);
                    Part.write(folder.resolve(index + ".done_ns"), doneNs[index]);
                }
            }
            return parts.size();
        }
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
