package streamlab;

import java.io.IOException;
import java.rmi.RemoteException;
import java.rmi.server.UnicastRemoteObject;
import java.time.Duration;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;

/** Builds the dataflow of each workload in each variant. */
final class Plans {
    private static final int ALL_KINDS = -1;
    private static final int ONLY_BULK = 1 << Kind.BULK;
    private static final int ONLY_SYNCHRONIZING = 1 << Kind.SYNCHRONIZING;
    private static final TypeInformation<Answer> ANSWER = TypeInformation.of(Answer.class);

    private final StreamExecutionEnvironment env;
    private final Job job;
    private final Run.Id run;
    private int sourceTasks;
    private int sinkTasks;

    /** The numbers of tasks of all sources and all sinks of a job. */
    record Tasks(int sources, int sinks) {}

    private Plans(StreamExecutionEnvironment env, Job job, Run.Id run) {
        this.env = env;
        this.job = job;
        this.run = run;
    }

    /** Builds the job in `env` and returns the numbers of its tasks. */
    static Tasks build(StreamExecutionEnvironment env, Job job, Run.Id run) throws IOException {
        if (job.variant.equals("generated")) {
            return Sql.build(env, job, run);
        }
        Plans plans = new Plans(env, job, run);
        plans.build();
        return new Tasks(plans.sourceTasks, plans.sinkTasks);
    }

    private void build() throws RemoteException {
        switch (job.variant + " " + job.workload) {
            case "automatic event_window" -> automaticEventWindow();
            case "automatic page_view_join" -> keyed(new Automatic.PageView(), spread());
            case "automatic keyed_counter" -> keyed(new Automatic.Counter(), plain());
            case "automatic fraud_detection", "sequential fraud_detection" ->
                    collect(inOrder(all(), new Automatic.Fraud(), 1, null));
            case "sequential event_window" ->
                    collect(inOrder(all(), new Sequential.Window(), 1, null));
            case "sequential page_view_join" -> {
                Update join = new Sequential.PageView(job.number("keys"));
                collect(inOrder(all(), join, 1, null));
            }
            case "automatic forward" -> forward();
            case "automatic wordcount",
                    "automatic paircount",
                    "automatic longest_tweet_per_hashtag" ->
                    tweets();
            case "manual event_window" ->
                    leavesAndRoots(1, new Manual.WindowLeaf(), new Manual.WindowRoot());
            case "manual fraud_detection" ->
                    leavesAndRoots(1, new Manual.FraudLeaf(), new Manual.FraudRoot());
            case "manual page_view_join" -> {
                int pages = job.number("keys");
                leavesAndRoots(pages, new Manual.PageLeaf(pages), new Manual.PageRoot());
            }
            case "ceiling nothing" -> ceiling();
            default ->
                    throw new IllegalArgumentException(
                            "no plan for " + job.workload + " in variant " + job.variant);
        }
    }

    private SingleOutputStreamOperator<Event> all() {
        return source(ALL_KINDS, job.workers, "events");
    }

    private SingleOutputStreamOperator<Event> bulk() {
        return source(ONLY_BULK, job.workers, "bulk");
    }

    private SingleOutputStreamOperator<Event> synchronizing() {
        // Synchronizing events are few: waiting for a full buffer would delay all other events.
        return source(ONLY_SYNCHRONIZING, 1, "synchronizing")
                .setBufferTimeout(Math.min(1, job.large("buffer_timeout_ms")));
    }

    private SingleOutputStreamOperator<Event> source(int kinds, int tasks, String name) {
        int first = sourceTasks;
        sourceTasks += tasks;
        if (job.topics != null) {
            return BrokerSource.find().add(env, job, run, kinds, tasks, name);
        }
        return MemorySource.of(env, job, run, kinds, first, tasks, name);
    }

    private SingleOutputStreamOperator<Answer> inOrder(
            DataStream<Event> events, Update update, int tasks, int[] labels) {
        return events.transform("in order", ANSWER, new InOrder(run, update, labels))
                .setParallelism(tasks)
                .disableChaining();
    }

    private void collect(SingleOutputStreamOperator<Answer> answer) {
        answer.sinkTo(new Collect<>(run, sinkTasks, Answer.BYTES, Answer::put))
                .setParallelism(answer.getParallelism());
        sinkTasks += answer.getParallelism();
    }

    /**
     * Broadcasts barriers; each task sums its share of the values, and windows over the barriers'
     * numbers add the shares. The number of a partial sum is its watermark (DGS paper, section 4.2
     * and appendix G.1.2).
     */
    private void automaticEventWindow() {
        DataStream<Event> events = bulk().forward().union(synchronizing().broadcast());
        SingleOutputStreamOperator<Answer> sums =
                inOrder(events, new Automatic.PartialSums(), job.workers, null)
                        .assignTimestampsAndWatermarks(
                                WatermarkStrategy.<Answer>forGenerator(context -> new ByNumber())
                                        .withTimestampAssigner((row, ts) -> row.key))
                        .setParallelism(job.workers)
                        .windowAll(TumblingEventTimeWindows.of(Duration.ofMillis(1)))
                        .reduce(
                                (left, right) -> {
                                    left.value += right.value;
                                    return left;
                                });
        collect(sums.setParallelism(1));
    }

    private static final class ByNumber implements WatermarkGenerator<Answer> {
        @Override
        public void onEvent(Answer row, long number, WatermarkOutput output) {
            output.emitWatermark(new Watermark(number));
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {}
    }

    private void keyed(Update update, int[] labels) {
        DataStream<Event> byKey = all().keyBy(event -> labels[event.key]);
        collect(inOrder(byKey, update, job.workers, labels));
    }

    /** Broadcasts tuples to tasks that forward them; one task merges the copies in order. */
    private void forward() {
        Update update = new Automatic.Forward(job.number("copies"), job.workers);
        collect(
                inOrder(all().broadcast(), update, job.workers, null)
                        .transform("merge", ANSWER, new Merge(job.workers))
                        .setParallelism(1)
                        .disableChaining());
    }

    private void tweets() {
        boolean longest = job.workload.equals("longest_tweet_per_hashtag");
        Tweets.Keys keys =
                job.workload.equals("paircount") ? Tweets.Keys.PAIRS : Tweets.Keys.ITEMS;
        collect(Tweets.windows(all(), job, run, keys, longest));
    }

    /** Builds one source, followed by a task that drops all events. */
    private void ceiling() {
        collect(
                all().rebalance()
                        .<Answer>flatMap((event, out) -> {})
                        .returns(ANSWER)
                        .setParallelism(1));
    }

    /** Builds one leaf per task for bulk events, and roots for synchronizing events by key. */
    private void leavesAndRoots(int trees, Update leaf, Update root) throws RemoteException {
        ForkJoin.Service service = new ForkJoin.Service(trees, job.workers);
        boolean remote = job.text("service").equals("rmi"); // Through the loopback interface.
        Run.of(run).served = service;
        Run.of(run).service =
                remote ? (ForkJoin) UnicastRemoteObject.exportObject(service, 0) : service;
        DataStream<Event> synchronizing = synchronizing();
        DataStream<Event> leaves = bulk().forward().union(synchronizing.broadcast());
        collect(inOrder(leaves, leaf, job.workers, null));
        int roots = Math.min(trees, job.workers);
        DataStream<Event> byTree =
                synchronizing.partitionCustom(
                        (Integer key, int tasks) -> key % tasks, event -> event.key);
        collect(inOrder(byTree, root, roots, null));
    }

    /** Returns the keys themselves as labels. */
    private int[] plain() {
        int[] labels = new int[job.number("keys")];
        for (int key = 0; key < labels.length; key++) {
            labels[key] = key;
        }
        return labels;
    }

    /**
     * Returns labels that Flink's hash assigns to tasks in turn. If the keys were labels, two pages could
     * share a task. The paper's programs also invert the hash (appendix G.2.2).
     */
    private int[] spread() {
        int[] labels = new int[job.number("keys")];
        int most = KeyGroupRangeAssignment.computeDefaultMaxParallelism(job.workers);
        int[] nextLabel = new int[job.workers];
        for (int key = 0; key < labels.length; key++) {
            int task = key % job.workers;
            int label = nextLabel[task];
            while (KeyGroupRangeAssignment.assignKeyToParallelOperator(label, most, job.workers)
                    != task) {
                label++;
            }
            labels[key] = label;
            nextLabel[task] = label + 1;
        }
        return labels;
    }
}
