package streamlab;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * The Viper module of communication-layer determinism: makes the channel of a task with several sources
 * a ScaleGate. A channel with one source stays a queue.
 */
public final class Channels {
    /** For each task, the function that makes its queue a ScaleGate of its sources. */
    private static final Map<Integer, Consumer<List<Integer>>> QUEUES = new ConcurrentHashMap<>();

    private final boolean merge;

    Channels(boolean merge) {
        this.merge = merge;
    }

    /** Called by the receive queue of a task when Storm creates it. */
    public static void register(int task, Consumer<List<Integer>> queue) {
        QUEUES.put(task, queue);
    }

    /** Called by a task, before any events are sent. */
    void read(int task, List<Integer> sources) {
        if (merge && sources.size() > 1) {
            QUEUES.get(task).accept(sources);
        }
    }
}
