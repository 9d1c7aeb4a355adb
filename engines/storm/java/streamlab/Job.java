package streamlab;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/** The settings of a job and its input, from the folder that the adapter wrote. */
final class Job {
    final Path folder;
    final String workload;
    final int workers;
    /** Whether mergers order the tuples of several producers; else channels do. */
    final boolean mergesInOperators;
    /** Whether tasks deal events without a key in turn; else by time. */
    final boolean dealsInTurn;
    final Rows[] rows;
    /** A warm-up on a prefix of the input, if there is one, and the timed phase. */
    final int phases;
    final long longestLead;
    private final int[] warmUpRows;
    private final long first;
    private final long span;

    Job(Path folder) throws IOException {
        this.folder = folder;
        Properties settings = new Properties();
        try (Reader text = Files.newBufferedReader(folder.resolve("job.properties"))) {
            settings.load(text);
        }
        workload = settings.getProperty("workload");
        workers = Integer.parseInt(settings.getProperty("workers"));
        mergesInOperators = settings.getProperty("determinism").equals("operator");
        dealsInTurn = settings.getProperty("dealing").equals("turn");
        first = Long.parseLong(settings.getProperty("first"));
        span = Long.parseLong(settings.getProperty("span"));
        rows = new Rows[Integer.parseInt(settings.getProperty("streams"))];
        warmUpRows = new int[rows.length];
        long all = 0;
        int warmUp = 0;
        for (int stream = 0; stream < rows.length; stream++) {
            rows[stream] = new Rows(folder.resolve(stream + ".rows"));
            warmUpRows[stream] = Integer.parseInt(settings.getProperty("warm_up_rows." + stream));
            all += rows[stream].ts.length;
            warmUp += warmUpRows[stream];
        }
        phases = warmUp > 0 ? 2 : 1;
        longestLead = (long) ((double) span / Math.max(1, all) * Lead.ROWS) + 1;
    }

    int rowsOf(int phase, int stream) {
        return phase < phases - 1 ? warmUpRows[stream] : rows[stream].ts.length;
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
