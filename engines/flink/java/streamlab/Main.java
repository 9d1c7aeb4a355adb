package streamlab;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * Runs one job on a cluster in this process, controlled by commands on standard input: `go` starts
 * the clock of the deployed job, `answer` writes its rows, `next` deploys the next job. The reply to
 * each is a line on standard output. The process ends when standard input ends.
 */
public final class Main {
    private static final int DEPLOYMENT_POLL_MS = 5;

    private final MiniCluster cluster;
    private int runs;

    private Main(MiniCluster cluster) {
        this.cluster = cluster;
    }

    /** Starts the process; the arguments are the folders of jobs, of which the first shapes the cluster. */
    public static void main(String[] arguments) throws Exception {
        PrintStream replies = System.out;
        System.setOut(System.err); // Only replies to commands go to standard output.
        BufferedReader commands =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        int exit = 0;
        try {
            MiniCluster cluster = new MiniCluster(configuration(new Job(Path.of(arguments[0]))));
            cluster.start();
            Main main = new Main(cluster);
            int at = 0;
            while (at < arguments.length
                    && main.serve(new Job(Path.of(arguments[at])), commands, replies)) {
                at++;
            }
        } catch (Throwable error) {
            error.printStackTrace();
            replies.println("failed " + reason(error));
            exit = 1;
        }
        replies.flush();
        // No clean-up is needed: the cluster's files are in the trial's folder.
        Runtime.getRuntime().halt(exit);
    }

    /** Runs a job; returns whether the next one is to run, too. */
    private boolean serve(Job job, BufferedReader commands, PrintStream replies) throws Exception {
        for (int round = 0; round < job.number("warm_up_rounds"); round++) {
            Deployment warmUp = deploy(job, true);
            warmUp.runToEnd();
            warmUp.forget();
        }
        System.gc();
        Deployment timed = deploy(job, false);
        replies.println("ready");
        replies.flush();
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            switch (line) {
                case "go" -> replies.println("done " + timed.runToEnd() + " " + timed.events());
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

    private static MiniClusterConfiguration configuration(Job job) {
        Configuration settings = new Configuration();
        settings.setString("rest.port", "0");
        settings.setString("rest.bind-address", "localhost");
        settings.setString("io.tmp.dirs", job.folder.resolve("flink").toString());
        settings.setString(
                "state.backend.rocksdb.localdir", job.folder.resolve("rocksdb").toString());
        settings.setString("taskmanager.memory.network.min", job.text("network_mb") + "m");
        settings.setString("taskmanager.memory.network.max", job.text("network_mb") + "m");
        settings.setString("taskmanager.memory.managed.size", job.text("managed_memory_mb") + "m");
        return new MiniClusterConfiguration.Builder()
                .setConfiguration(settings)
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(job.workers)
                .withRandomPorts()
                .build();
    }

    /** Deploys the job, and returns when all of its tasks wait for the clock. */
    private Deployment deploy(Job job, boolean warmUp) throws Exception {
        int number = runs++;
        Run run = new Run(number, job, warmUp);
        Configuration settings = new Configuration();
        settings.setString("restart-strategy.type", "disable");
        settings.setString(
                "state.backend.type", job.text("state").equals("heap") ? "hashmap" : "rocksdb");
        settings.setString("pipeline.object-reuse", "true");
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(settings);
        env.setRuntimeMode(RuntimeExecutionMode.STREAMING);
        env.setParallelism(job.workers);
        env.setBufferTimeout(job.large("buffer_timeout_ms"));
        int sinkTasks = Plans.build(env, job, number);
        JobGraph graph = env.getStreamGraph().getJobGraph();
        JobID id = cluster.submitJob(graph).get().getJobID();
        CompletableFuture<JobResult> result = cluster.requestJobResult(id);
        while (!isRunning(id)) {
            if (result.isDone()) {
                check(result.get());
            }
            Thread.sleep(DEPLOYMENT_POLL_MS);
        }
        return new Deployment(number, run, sinkTasks, result);
    }

    private boolean isRunning(JobID id) throws Exception {
        AccessExecutionGraph graph = cluster.getExecutionGraph(id).get();
        int tasks = 0;
        for (AccessExecutionVertex task : graph.getAllExecutionVertices()) {
            // A reader without streams may already have ended.
            ExecutionState state = task.getExecutionState();
            if (state != ExecutionState.RUNNING && state != ExecutionState.FINISHED) {
                return false;
            }
            tasks++;
        }
        return tasks > 0;
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
    private static final class Deployment {
        private final int number;
        private final Run run;
        private final int sinkTasks;
        private final CompletableFuture<JobResult> result;

        Deployment(int number, Run run, int sinkTasks, CompletableFuture<JobResult> result) {
            this.number = number;
            this.run = run;
            this.sinkTasks = sinkTasks;
            this.result = result;
        }

        /** Starts the clock, waits for the last row, and returns the duration in ns. */
        long runToEnd() throws Exception {
            CompletableFuture<Void> allRows =
                    CompletableFuture.runAsync(
                            () -> {
                                try {
                                    run.awaitParts(sinkTasks);
                                } catch (InterruptedException error) {
                                    Thread.currentThread().interrupt();
                                }
                            });
            run.start();
            CompletableFuture.anyOf(allRows, result).get();
            long took = run.nowNs();
            if (!allRows.isDone()) {
                check(result.get());
                allRows.get(10, TimeUnit.SECONDS);
            }
            return took;
        }

        long events() {
            return run.handedOver.sum();
        }

        int write() throws Exception {
            check(result.get()); // A task may fail after its last row.
            return run.write(run.job.folder);
        }

        void forget() throws Exception {
            check(result.get());
            Run.forget(number);
        }
    }
}
