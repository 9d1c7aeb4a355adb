package streamlab;

import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.common.JobID;
import org.apache.flink.client.deployment.StandaloneClusterId;
import org.apache.flink.client.program.rest.RestClusterClient;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.rest.messages.job.JobDetailsInfo;

/** Runs jobs in this process, or on a session cluster. */
interface Cluster {
    JobID submit(JobGraph graph) throws Exception;

    CompletableFuture<JobResult> result(JobID id);

    /** Returns whether all tasks of a job run or have ended. A reader without streams may end at once. */
    boolean isRunning(JobID id) throws Exception;

    void cancel(JobID id) throws Exception;

    static Cluster of(Job job) throws Exception {
        return job.onCluster() ? new Session(job) : new Here(job);
    }

    private static boolean runs(ExecutionState state) {
        return state == ExecutionState.RUNNING || state == ExecutionState.FINISHED;
    }

    /** A cluster in this process. */
    final class Here implements Cluster {
        private final MiniCluster cluster;

        Here(Job job) throws Exception {
            Configuration settings = new Configuration();
            settings.setString("rest.port", "0");
            settings.setString("rest.bind-address", "localhost");
            settings.setString("io.tmp.dirs", job.folder.resolve("flink").toString());
            settings.setString(
                    "state.backend.rocksdb.localdir", job.folder.resolve("rocksdb").toString());
            settings.setString("taskmanager.memory.network.min", job.text("network_mb") + "m");
            settings.setString("taskmanager.memory.network.max", job.text("network_mb") + "m");
            settings.setString(
                    "taskmanager.memory.managed.size", job.text("managed_memory_mb") + "m");
            cluster =
                    new MiniCluster(
                            new MiniClusterConfiguration.Builder()
                                    .setConfiguration(settings)
                                    .setNumTaskManagers(1)
                                    .setNumSlotsPerTaskManager(job.number("slots"))
                                    .withRandomPorts()
                                    .build());
            cluster.start();
        }

        @Override
        public JobID submit(JobGraph graph) throws Exception {
            return cluster.submitJob(graph).get().getJobID();
        }

        @Override
        public CompletableFuture<JobResult> result(JobID id) {
            return cluster.requestJobResult(id);
        }

        @Override
        public boolean isRunning(JobID id) throws Exception {
            int tasks = 0;
            for (AccessExecutionVertex task :
                    cluster.getExecutionGraph(id).get().getAllExecutionVertices()) {
                if (!runs(task.getExecutionState())) {
                    return false;
                }
                tasks++;
            }
            return tasks > 0;
        }

        @Override
        public void cancel(JobID id) {}
    }

    /** A session cluster, which gets the lab's classes with each job. */
    final class Session implements Cluster {
        private final RestClusterClient<StandaloneClusterId> client;
        private final Path jar;

        Session(Job job) throws Exception {
            String address = job.text("jobmanager");
            int colon = address.lastIndexOf(':');
            Configuration settings = new Configuration();
            settings.setString("rest.address", address.substring(0, colon));
            settings.setString("rest.port", address.substring(colon + 1));
            client = new RestClusterClient<>(settings, StandaloneClusterId.getInstance());
            jar = job.folder.resolve("streamlab.jar");
        }

        @Override
        public JobID submit(JobGraph graph) throws Exception {
            graph.addJar(new org.apache.flink.core.fs.Path(jar.toUri()));
            return client.submitJob(graph).get();
        }

        @Override
        public CompletableFuture<JobResult> result(JobID id) {
            return client.requestJobResult(id);
        }

        @Override
        public boolean isRunning(JobID id) throws Exception {
            var tasks = client.getJobDetails(id).get().getJobVertexInfos();
            for (JobDetailsInfo.JobVertexDetailsInfo vertex : tasks) {
                for (Map.Entry<ExecutionState, Integer> entry : vertex.getTasksPerState().entrySet()) {
                    if (entry.getValue() > 0 && !runs(entry.getKey())) {
                        return false;
                    }
                }
            }
            return !tasks.isEmpty();
        }

        @Override
        public void cancel(JobID id) throws Exception {
            client.cancel(id).get();
            result(id).get();
        }
    }
}
