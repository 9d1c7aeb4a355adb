package streamlab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;

/** Shares the input, the gate and the answers among the tasks of the topology. A process has one run. */
public final class Run {
    private static volatile Run current;

    public final Job job;
    final Channels channels;
    final Lead lead;
    /** The answer of each sink. */
    public final Answer[] answers;

    private final List<CountDownLatch> unfinishedSinks = new ArrayList<>();
    private final Set<String> threads = ConcurrentHashMap.newKeySet();
    private final Queue<Steps> steps = new ConcurrentLinkedQueue<>();
    private CountDownLatch unpreparedTasks;
    private long startNs;
    private volatile int open = -1;

    Run(Job job) {
        this.job = job;
        channels = new Channels(!job.mergesInOperators);
        lead = new Lead(job.spouts, job.longestLead);
        answers = new Answer[job.sinks];
        for (int sink = 0; sink < answers.length; sink++) {
            answers[sink] = new Answer(job.answerBytes);
        }
        for (int phase = 0; phase < job.phases; phase++) {
            unfinishedSinks.add(new CountDownLatch(job.sinks));
        }
        current = this;
    }

    public static Run current() {
        return current;
    }

    /** Sets how many tasks the topology has; called before it is submitted. */
    void expect(int tasks) {
        unpreparedTasks = new CountDownLatch(tasks);
    }

    /** Returns new counts for a task. */
    Steps newSteps() {
        Steps counts = new Steps(this);
        steps.add(counts);
        return counts;
    }

    /** Called by tasks in an open phase: `open` publishes the time that was set before it. */
    long startNs() {
        return startNs;
    }

    /** Counts a task as prepared; called by its own thread. */
    public void isPrepared() {
        try { // `self` would be the process.
            threads.add(Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString());
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        unpreparedTasks.countDown();
    }

    void awaitTasks() throws InterruptedException {
        unpreparedTasks.await();
    }

    public boolean isOpen(int phase) {
        return open >= phase;
    }

    /** Lets the injectors begin a phase, waits until all sinks have its end, and returns the time in ns. */
    long runToEnd(int phase) throws InterruptedException {
        lead.restart();
        startNs = System.nanoTime();
        open = phase;
        unfinishedSinks.get(phase).await();
        return System.nanoTime() - startNs;
    }

    /** Counts a sink that has the end of a phase; called by the sink. */
    public void hasEnded(int phase) {
        unfinishedSinks.get(phase).countDown();
    }

    int write() throws IOException {
        for (int sink = 0; sink < answers.length; sink++) {
            answers[sink].write(job.folder.resolve(sink + ".answer"));
        }
        return answers.length;
    }

    void writeLatencies() throws IOException {
        Answer.writeLatencies(answers, job.folder.resolve("latencies"));
        Steps.write(steps, job.folder.resolve("steps"));
    }

    /** CPU time and context switches of the threads of all tasks so far. */
    record Usage(long cpuNs, long switches) {
        Usage since(Usage before) {
            return new Usage(cpuNs - before.cpuNs, switches - before.switches);
        }
    }

    Usage usage() throws IOException {
        long cpuNs = 0;
        long switches = 0;
        for (String thread : threads) {
            Path folder = Path.of("/proc/self/task", thread);
            cpuNs += Long.parseLong(Files.readString(folder.resolve("schedstat")).split(" ")[0]);
            for (String line : Files.readAllLines(folder.resolve("status"))) {
                if (line.contains("ctxt_switches")) {
                    switches += Long.parseLong(line.split(":")[1].trim());
                }
            }
        }
        return new Usage(cpuNs, switches);
    }

    int threads() {
        return threads.size();
    }
}
