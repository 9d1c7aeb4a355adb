package streamlab;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * Runs one job on a cluster in this process or on a session cluster, controlled by commands on standard
 * input: `go` starts the clock of the deployed job, `answer` writes its rows, `next` deploys the next job.
 * The reply to each is a line on standard output. The process ends when standard input ends.
 */
public final class Main {
    private static final int DEPLOYMENT_POLL_MS = 5;
    /** Restarts are a second apart. Flink may reuse a lost task manager until it misses the heartbeats. */
    private static final String MOST_RESTARTS = "60";

    private final Cluster cluster;
    private int runs;
    private Deployment last;

    private Main(Cluster cluster) {
        this.cluster = cluster;
    }

    /** Starts the process; the arguments are the folders of jobs, of which the first shapes the cluster. */
    public static void main(String[] arguments) throws Exception {
        PrintStream replies = System.out;
        System.setOut(System.err); // Only replies to commands go to standard output.
        BufferedReader commands =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        int exit = 0;
        Main main = null;
        try {
            main = new Main(Cluster.of(new Job(Path.of(arguments[0]))));
            int index = 0;
            while (index < arguments.length
                    && main.serve(new Job(Path.of(arguments[index])), commands, replies)) {
                index++;
            }
        } catch (Throwable error) {
            error.printStackTrace();
            replies.println("failed " + reason(error));
            exit = 1;
        }
        replies.flush();
        try {
            if (main != null) {
                main.cancel();
            }
        } finally {
            // No other clean-up is needed: a cluster in this process has its files in the trial's folder.
            Runtime.getRuntime().halt(exit);
        }
    }

    /** Runs a job; returns whether to run the next job. */
    private boolean serve(Job job, BufferedReader commands, PrintStream replies) throws Exception {
        for (int round = 0; round < job.number("warm_up_rounds"); round++) {
            Deployment warmUp = deploy(job, true);
            warmUp.runToEnd();
            warmUp.forget();
        }
        System.gc();
        Deployment timed = deploy(job, false);
        replies.println("ready " + timed.id);
        replies.flush();
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            switch (line) {
                case "go" -> replies.println("done " + timed.runToEnd() + " " + timed.run.events());
                case "answer" -> replies.println("written " + timed.write());
                case "next" -> {
                    return true;
                }
                default -> throw new IllegalArgumentException("no command " + line);
            }
            replies.flush();
        }
        return false;
    }

    /** Deploys the job, and returns when all of its tasks wait for the clock. */
    private Deployment deploy(Job job, boolean warmUp) throws Exception {
        int number = runs++;
        Run.Id key = new Run.Id(job.folder.toString(), number, warmUp);
        Run run = Run.create(key, job);
        Configuration settings = new Configuration();
        if (job.checkpointMs == 0) {
            settings.setString("restart-strategy.type", "disable");
        } else {
            settings.setString("execution.checkpointing.interval", job.checkpointMs + "ms");
            settings.setString("execution.checkpointing.storage", "filesystem");
            settings.setString(
                    "execution.checkpointing.dir", job.folder.resolve("checkpoints").toUri().toString());
            settings.setString("restart-strategy.type", "fixed-delay");
            settings.setString("restart-strategy.fixed-delay.attempts", MOST_RESTARTS);
            settings.setString("restart-strategy.fixed-delay.delay", "1s");
        }
        settings.setString(
                "state.backend.type", job.text("state").equals("heap") ? "hashmap" : "rocksdb");
        settings.setString("pipeline.object-reuse", "true");
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(settings);
        env.setRuntimeMode(RuntimeExecutionMode.STREAMING);
        env.setParallelism(job.workers);
        env.setBufferTimeout(job.large("buffer_timeout_ms"));
        run.expect(Plans.build(env, job, key));
        JobID id = cluster.submit(env.getStreamGraph().getJobGraph());
        last = new Deployment(id, key, run, cluster.result(id));
        while (!cluster.isRunning(id)) {
            if (last.result.isDone()) {
                check(last.result.get());
            }
            Thread.sleep(DEPLOYMENT_POLL_MS);
        }
        return last;
    }

    /** Frees the slots of a session cluster. */
    private void cancel() throws Exception {
        if (last != null && !last.result.isDone()) {
            cluster.cancel(last.id);
        }
    }

    private static void check(JobResult result) throws Exception {
        if (!result.isSuccess()) {
            throw new ExecutionException(
                    "the job ended early", result.getSerializedThrowable().orElse(null));
        }
    }

    private static String reason(Throwable error) {
        Throwable cause = error;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return String.valueOf(cause).replace('\n', ' ');
    }

    /** A job whose tasks wait for the clock. */
    private record Deployment(JobID id, Run.Id key, Run run, CompletableFuture<JobResult> result) {
        /** Starts the clock, waits for the last row, and returns the duration in ns. */
        long runToEnd() throws Exception {
            long begin = System.nanoTime();
            run.start();
            run.awaitRows(result);
            long took = System.nanoTime() - begin;
            if (result.isDone()) {
                check(result.get());
            }
            if (run.job.topics != null) {
                run.job.topics.checkRows(run.events());
            }
            return took;
        }

        int write() throws Exception {
            if (!run.isEndless() || result.isDone()) {
                check(result.get()); // A task may fail after its last row.
            }
            return run.write();
        }

        void forget() throws Exception {
            check(result.get());
            Run.forget(key);
        }
    }
}
