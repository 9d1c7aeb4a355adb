package streamlab;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/** The settings of a job, from the folder that the adapter wrote. */
final class Job {
    final Path folder;
    final String application;
    final String workload;
    final int workers;
    final int warmUpRounds;
    final Topics topics;

    Job(Path folder) throws IOException {
        this.folder = folder;
        Properties settings = new Properties();
        try (Reader text = Files.newBufferedReader(folder.resolve("job.properties"))) {
            settings.load(text);
        }
        application = settings.getProperty("application");
        workload = settings.getProperty("workload");
        workers = Integer.parseInt(settings.getProperty("workers"));
        warmUpRounds = Integer.parseInt(settings.getProperty("warm_up_rounds"));
        topics = new Topics(settings);
    }
}
