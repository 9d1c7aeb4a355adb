package streamlab;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * Runs one topology, controlled by commands on standard input: `go` starts the clock, with the start of a load if there
 * is one, and `answer` writes the rows. The reply to each is a line on standard output. The process ends when standard
 * input ends.
 */
public final class Main {
    private Main() {}

    /** Starts the process; the arguments are the job's folder, and `load` if rows come at an offered rate. */
    public static void main(String[] arguments) throws Exception {
        PrintStream replies = System.out;
        System.setOut(System.err); // Only replies to commands go to standard output.
        BufferedReader commands =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        int exit = 0;
        try {
            serve(new Job(Path.of(arguments[0])), arguments.length > 1, commands, replies);
        } catch (Throwable error) {
            error.printStackTrace();
            replies.println("failed " + String.valueOf(error.getMessage()).replace('\n', ' '));
            exit = 1;
        }
        replies.flush();
        Runtime.getRuntime().halt(exit);
    }

    private static void serve(Job job, boolean load, BufferedReader commands, PrintStream replies)
            throws Exception {
        for (int round = 0; round < job.warmUpRounds; round++) {
            try (Run warmUp = new Run(job, round, load)) {
                warmUp.awaitTasks();
                warmUp.run(System.nanoTime());
            }
        }
        System.gc();
        try (Run run = new Run(job, job.warmUpRounds, load)) {
            run.awaitTasks();
            replies.println("ready " + run.tasks);
            replies.flush();
            for (String line = commands.readLine(); line != null; line = commands.readLine()) {
                String[] words = line.split(" ");
                switch (words[0]) {
                    case "go" -> {
                        long startNs = words.length > 1 ? Long.parseLong(words[1]) : System.nanoTime();
                        replies.println("done " + run.run(startNs) + " " + job.topics.rows());
                    }
                    case "answer" -> replies.println("written " + run.write());
                    default -> throw new IllegalArgumentException("no command " + line);
                }
                replies.flush();
            }
        }
    }
}
