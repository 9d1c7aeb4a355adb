package streamlab;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** Reads the settings of a job from the folder that the adapter wrote, and the input into memory. */
final class Job {
    /** A column of the table of a query; the type is long, double or boolean. */
    record Column(String name, String type) {}

    final Path folder;
    final Stream[] streams;
    final String workload;
    final String variant;
    final int workers;
    final boolean offered;
    /** The columns of a query's table; of other programs none. */
    final List<Column> columns = new ArrayList<>();
    private final Properties settings = new Properties();

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
        streams = new Stream[number("streams")];
        for (int index = 0; index < streams.length; index++) {
            streams[index] = new Stream(folder, index, number("kinds"), text("kinds_of." + index), columns);
        }
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

    /** Returns the number of rows of each stream: all, or those of a warm-up. */
    int[] rows(boolean warmUp) {
        int[] rows = new int[streams.length];
        for (int index = 0; index < rows.length; index++) {
            rows[index] = warmUp ? number("warm_up_rows." + index) : streams[index].rows;
        }
        return rows;
    }
}
