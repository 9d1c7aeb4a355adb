package streamlab;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** Reads a job's settings from the folder that the adapter wrote, and each stream when a task first needs it. */
final class Job {
    /** A column of the table of a query; the type is long, double or boolean. */
    record Column(String name, String type) {}

    final Path folder;
    final String workload;
    final String variant;
    final int workers;
    final boolean offered;
    /** Milliseconds between checkpoints; 0 for no checkpoints. */
    final int checkpointMs;
    /** By stream, the kinds that may occur, one bit each. */
    final int[] kinds;
    /** The columns of a query's table; empty for other programs. */
    final List<Column> columns = new ArrayList<>();
    /** Null if the input is in memory. */
    final Topics topics;
    private final Properties settings = new Properties();
    private final AtomicReferenceArray<Stream> streams;

    Job(Path folder) throws IOException {
        this.folder = folder;
        try (Reader text = Files.newBufferedReader(folder.resolve("job.properties"))) {
            settings.load(text);
        }
        workload = text("workload");
        variant = text("variant");
        workers = number("workers");
        offered = text("offered").equals("yes");
        for (String column : settings.getProperty("columns", "").split(",")) {
            if (!column.isEmpty()) {
                String[] parts = column.split(":");
                columns.add(new Column(parts[0], parts[1]));
            }
        }
        checkpointMs = number("checkpoint_ms");
        topics = settings.containsKey("topic.0") ? new Topics(settings) : null;
        streams = new AtomicReferenceArray<>(number("streams"));
        kinds = new int[streams.length()];
        for (int index = 0; index < kinds.length; index++) {
            for (String kind : text("kinds_of." + index).split(",")) {
                kinds[index] |= 1 << Integer.parseInt(kind);
            }
        }
    }

    /** Returns whether tasks run outside the trial's process. */
    boolean onCluster() {
        return settings.containsKey("jobmanager");
    }

    /** Returns a stream, read into the memory of this process by the first call. */
    Stream stream(int index) throws IOException {
        Stream stream = streams.getAcquire(index); // Pairs with the release in `load`.
        return stream == null ? load(index) : stream;
    }

    private synchronized Stream load(int index) throws IOException {
        if (streams.getPlain(index) == null) {
            String kindsOf = text("kinds_of." + index);
            streams.setRelease(
                    index, new Stream(folder, index, number("kinds"), kindsOf, columns));
        }
        return streams.getPlain(index);
    }

    /** Returns the average event time from one event to the one `events` later, at least 1. */
    long timeOf(long events) {
        return Math.max(1, (long) (Double.parseDouble(text("time_per_event")) * events));
    }

    String text(String name) {
        String value = settings.getProperty(name);
        if (value == null) {
            throw new IllegalArgumentException("job.properties has no " + name);
        }
        return value;
    }

    int number(String name) {
        return Integer.parseInt(text(name));
    }

    long large(String name) {
        return Long.parseLong(text(name));
    }

    /** Returns the number of rows of each stream: all rows, or the rows of a warm-up. */
    int[] rows(boolean warmUp) {
        int[] rows = new int[kinds.length];
        for (int index = 0; index < rows.length; index++) {
            rows[index] = number((warmUp ? "warm_up_rows." : "rows.") + index);
        }
        return rows;
    }
}
