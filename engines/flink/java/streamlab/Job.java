package streamlab;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/** What is to be run, as the lab's side wrote it into a folder, and the input in memory. */
final class Job {
    final Path folder;
    final Stream[] streams;
    final String workload;
    final String variant;
    final int workers;
    final boolean offered;
    private final Properties given = new Properties();

    Job(Path folder) throws IOException {
        this.folder = folder;
        try (Reader text = Files.newBufferedReader(folder.resolve("job.properties"))) {
            given.load(text);
        }
        workload = text("workload");
        variant = text("variant");
        workers = number("workers");
        offered = text("offered").equals("yes");
        streams = new Stream[number("streams")];
        for (int index = 0; index < streams.length; index++) {
            streams[index] = new Stream(folder, index, number("kinds"), text("kinds_of." + index));
        }
    }

    String text(String name) {
        String found = given.getProperty(name);
        if (found == null) {
            throw new IllegalArgumentException("job.properties has no " + name);
        }
        return found;
    }

    int number(String name) {
        return Integer.parseInt(text(name));
    }

    long large(String name) {
        return Long.parseLong(text(name));
    }

    /** How many rows of each stream there are: all, or those that a warm-up takes. */
    int[] rows(boolean warmUp) {
        int[] rows = new int[streams.length];
        for (int index = 0; index < rows.length; index++) {
            rows[index] = warmUp ? number("warm_up_rows." + index) : streams[index].rows;
        }
        return rows;
    }
}
