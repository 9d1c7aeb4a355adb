package streamlab;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/** The settings of a job and its input, from the folder that the adapter wrote. */
public final class Job {
    public final Path folder;
    public final String workload;
    public final int workers;
    final String variant;
    final int spouts;
    /** How many tasks store the answer. */
    final int sinks;
    final int answerBytes;
    /** Whether mergers order the tuples of several producers; otherwise channels do. */
    final boolean mergesInOperators;
    /** Whether tasks deal events without a key in turn; otherwise they deal them by time. */
    final boolean dealsInTurn;
    final Rows[] rows;
    private final Properties settings = new Properties();
    /** How many phases there are: the timed one, after a warm-up on a prefix of the input if there is one. */
    final int phases;
    final long longestLead;
    private final int[] warmUpRows;
    private final long lastTime;
    private final long lastWarmUpTime;
    private final long first;
    private final long span;

    Job(Path folder) throws IOException {
        this.folder = folder;
        try (Reader text = Files.newBufferedReader(folder.resolve("job.properties"))) {
            settings.load(text);
        }
        workload = text("workload");
        variant = text("variant");
        workers = number("workers");
        spouts = number("spouts");
        sinks = number("sinks");
        answerBytes = number("answer_bytes");
        mergesInOperators = text("determinism").equals("operator");
        dealsInTurn = text("dealing").equals("turn");
        lastTime = time("last_time");
        lastWarmUpTime = time("last_warm_up_time");
        first = time("first");
        span = time("span");
        rows = new Rows[number("streams")];
        warmUpRows = new int[rows.length];
        long totalRows = 0;
        int totalWarmUpRows = 0;
        for (int stream = 0; stream < rows.length; stream++) {
            rows[stream] = new Rows(folder.resolve(stream + ".rows"), number("fields"));
            warmUpRows[stream] = number("warm_up_rows." + stream);
            totalRows += rows[stream].ts.length;
            totalWarmUpRows += warmUpRows[stream];
        }
        phases = totalWarmUpRows > 0 ? 2 : 1;
        longestLead = (long) ((double) span / Math.max(1, totalRows) * Lead.ROWS) + 1;
    }

    /** Returns a setting, or an empty text if the job does not have it. */
    public String text(String name) {
        return settings.getProperty(name, "");
    }

    public int number(String name) {
        return Math.toIntExact(time(name));
    }

    public long time(String name) {
        return Long.parseLong(text(name));
    }

    public boolean isTimed(int phase) {
        return phase == phases - 1;
    }

    /** Returns the time of the last possible marker in a phase. */
    long lastTime(int phase) {
        return isTimed(phase) ? lastTime : lastWarmUpTime;
    }

    int rowsOf(int phase, int stream) {
        return isTimed(phase) ? rows[stream].ts.length : warmUpRows[stream];
    }

    /** Returns the position of a record of a phase in the order of all phases. */
    long order(int phase, long ts) {
        return phase * span + (ts - first);
    }

    long ts(int phase, long order) {
        return order - phase * span + first;
    }

    /** Returns an order above that of all records of a phase. */
    long endOf(int phase) {
        return (phase + 1) * span - 1;
    }
}
