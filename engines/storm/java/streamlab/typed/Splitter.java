package streamlab.typed;

import java.util.List;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.task.WorkerTopologyContext;

/** A splitter in place of Storm's groupings: sends a pair to one task of a bolt, and a marker to all. */
final class Splitter implements CustomStreamGrouping {
    /** The routes of workloads/model/dataflow/network.py; MERGED is HASH to a single task. */
    enum Route {
        FORWARD,
        ROUND_ROBIN,
        HASH,
        MERGED
    }

    private final Route route;
    private transient List<Integer> producers;
    private transient List<Integer> consumers;
    private transient List<List<Integer>> single;
    private transient int turn;

    Splitter(Route route) {
        this.route = route;
    }

    @Override
    public void prepare(WorkerTopologyContext context, GlobalStreamId stream, List<Integer> targets) {
        producers = Tasks.of(context, stream.get_componentId());
        consumers = targets.stream().sorted().toList();
        single = consumers.stream().map(List::of).toList();
    }

    @Override
    public List<Integer> chooseTasks(int task, List<Object> values) {
        if (route == Route.FORWARD) {
            return single.get(producers.indexOf(task));
        }
        if (!(values.get(0) instanceof Pair pair)) {
            return consumers;
        }
        if (route == Route.ROUND_ROBIN) {
            turn = (turn + 1) % single.size();
            return single.get(turn);
        }
        return single.get(Math.floorMod(Long.hashCode(pair.key()), single.size()));
    }
}
