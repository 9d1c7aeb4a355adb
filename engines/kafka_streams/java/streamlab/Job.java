package streamlab;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/** Reads the settings of a job from the folder that the adapter wrote. */
final class Job {
    final Path folder;
    final String application;
    final String workload;
    final int workers;
    final int warmUpRounds;
    final Topics topics;
    /** The unit of arrival times, which replace event times; 0 to keep event times. */
    final long arrivalTickNs;
    /** The columns that a query reads, by stream: 16 x (first byte in a row) + size in bytes. */
    final int[][] columns;
    private final Properties settings = new Properties();

    Job(Path folder) throws IOException {
        this.folder = folder;
        try (Reader text = Files.newBufferedReader(folder.resolve("job.properties"))) {
            settings.load(text);
        }
        application = settings.getProperty("application");
        workload = settings.getProperty("workload");
        workers = Integer.parseInt(settings.getProperty("workers"));
        warmUpRounds = Integer.parseInt(settings.getProperty("warm_up_rounds"));
        topics = new Topics(settings);
        arrivalTickNs = parameter("arrival_tick_ns");
        columns = new int[topics.topics.length][(int) parameter("columns")];
        for (int stream = 0; stream < columns.length; stream++) {
            for (int column = 0; column < columns[stream].length; column++) {
                columns[stream][column] = (int) parameter("column." + stream + "." + column);
            }
        }
    }

    /** Returns a number, such as a query parameter. */
    long parameter(String name) {
        return Long.parseLong(settings.getProperty(name));
    }
}
