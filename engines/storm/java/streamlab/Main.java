package streamlab;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.generated.StormTopology;
import streamlab.handcrafted.Topologies;
import streamlab.typed.Compiler;

/**
 * Runs one topology on a local cluster in this process, controlled by commands on standard input: `go`
 * starts the timed phase, and `answer` writes the records of the sinks. The reply to each is a line on
 * standard output. The process ends when standard input ends.
 */
public final class Main {
    private Main() {}

    /** Starts the process; the argument is the job's folder. */
    public static void main(String[] arguments) throws Exception {
        PrintStream replies = System.out;
        System.setOut(System.err); // Only replies to commands go to standard output.
        BufferedReader commands =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        int exit = 0;
        try {
            serve(new Run(new Job(Path.of(arguments[0]))), commands, replies);
        } catch (Throwable error) {
            error.printStackTrace();
            replies.println("failed " + String.valueOf(error).replace('\n', ' '));
            exit = 1;
        }
        replies.flush();
        // The cluster needs no other clean-up: its files are in the trial's folder.
        Runtime.getRuntime().halt(exit);
    }

    private static void serve(Run run, BufferedReader commands, PrintStream replies) throws Exception {
        StormTopology topology = topology(run);
        run.expect(tasks(topology));
        LocalCluster cluster =
                new LocalCluster.Builder().withSupervisors(1).withPortsPerSupervisor(1).build();
        cluster.submitTopology("lab", settings(), topology);
        run.awaitTasks();
        int timedPhase = run.job.phases - 1;
        for (int phase = 0; phase < timedPhase; phase++) {
            run.runToEnd(phase);
        }
        System.gc();
        replies.println("ready");
        replies.flush();
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            switch (line) {
                case "go" -> {
                    Run.Usage before = run.usage();
                    long tookNs = run.runToEnd(timedPhase);
                    Run.Usage used = run.usage().since(before);
                    run.writeLatencies();
                    replies.printf(
                            "done %d %d %d %d%n",
                            tookNs, used.cpuNs(), used.switches(), run.threads());
                }
                case "answer" -> replies.println("written " + run.write());
                default -> throw new IllegalArgumentException("no command " + line);
            }
            replies.flush();
        }
    }

    private static StormTopology topology(Run run) {
        return switch (run.job.variant) {
            case "layers" -> Layers.build(run);
            case "typed" -> Compiler.compile(run.job);
            case "handcrafted" -> Topologies.build(run.job);
            default -> throw new IllegalArgumentException("no variant " + run.job.variant);
        };
    }

    private static int tasks(StormTopology topology) {
        int tasks = 0;
        for (SpoutSpec spout : topology.get_spouts().values()) {
            tasks += spout.get_common().get_parallelism_hint();
        }
        for (Bolt bolt : topology.get_bolts().values()) {
            tasks += bolt.get_common().get_parallelism_hint();
        }
        return tasks;
    }

    private static Config settings() {
        Config settings = new Config();
        settings.setNumWorkers(1);
        settings.setNumAckers(0);
        return settings;
    }
}
