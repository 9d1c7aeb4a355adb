package streamlab;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The counts of one task in the timed phase, on a grid of 100 ms. Only the thread of the task writes;
 * the counts of all tasks are read after the end of the phase.
 */
final class Steps {
    static final int EMITTED = 0;
    static final int CONSUMED = 1;
    private static final int OUTPUTS = 2;
    private static final int LONGEST = 3;
    /** The columns from here on count latencies: eight buckets per power of two, as in progress.py. */
    private static final int LATENCIES = 4;
    private static final int SUB_BUCKET_BITS = 3;
    private static final int COLUMNS =
            LATENCIES + ((Long.SIZE - SUB_BUCKET_BITS) << SUB_BUCKET_BITS);
    private static final long STEP_NS = 100_000_000L;

    private final Run run;
    private final List<long[]> rows = new ArrayList<>();

    Steps(Run run) {
        this.run = run;
    }

    /** Counts an event that was emitted or consumed. */
    void count(int column, long nowNs) {
        rows.get(step(nowNs))[column]++;
    }

    void countOutput(long latencyNs, long nowNs) {
        int step = step(nowNs);
        if (rows.get(step).length < COLUMNS) {
            rows.set(step, Arrays.copyOf(rows.get(step), COLUMNS));
        }
        long[] row = rows.get(step);
        row[OUTPUTS]++;
        row[LONGEST] = Math.max(row[LONGEST], latencyNs);
        row[LATENCIES + bucket(latencyNs)]++;
    }

    private static int bucket(long value) {
        int bits = Long.SIZE - Long.numberOfLeadingZeros(value);
        int shift = Math.max(bits - 1, SUB_BUCKET_BITS) - SUB_BUCKET_BITS;
        return (shift << SUB_BUCKET_BITS) + (int) (value >> shift);
    }

    /** Returns the step of a time, and adds its row; rows have no columns of latencies until a task has outputs. */
    private int step(long nowNs) {
        int step = (int) ((nowNs - run.startNs()) / STEP_NS);
        while (rows.size() <= step) {
            rows.add(new long[LATENCIES]);
        }
        return step;
    }

    /** Writes for each step the sums over all tasks, and the longest latency. */
    static void write(Iterable<Steps> tasks, Path path) throws IOException {
        List<long[]> sums = new ArrayList<>();
        for (Steps task : tasks) {
            while (sums.size() < task.rows.size()) {
                sums.add(new long[COLUMNS]);
            }
            for (int step = 0; step < task.rows.size(); step++) {
                long[] sum = sums.get(step);
                long[] row = Arrays.copyOf(task.rows.get(step), COLUMNS);
                long longest = Math.max(sum[LONGEST], row[LONGEST]);
                Arrays.setAll(sum, column -> sum[column] + row[column]);
                sum[LONGEST] = longest;
            }
        }
        ByteBuffer bytes =
                ByteBuffer.allocate(sums.size() * COLUMNS * Long.BYTES)
                        .order(ByteOrder.LITTLE_ENDIAN);
        sums.forEach(row -> Arrays.stream(row).forEach(bytes::putLong));
        Files.write(path, bytes.array());
    }
}
