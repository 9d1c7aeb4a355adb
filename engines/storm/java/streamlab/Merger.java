package streamlab;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

/**
 * The merge-sorting operator of operator-layer determinism: hands the events of its producers over to one
 * consumer, one by one, by (order, producer).
 */
final class Merger extends BaseRichBolt {
    private final String consumer;
    private transient Sources sources;
    private transient Sender sender;
    private transient List<ArrayDeque<Event>> waiting;
    /** The order of each producer's last event. */
    private transient long[] promised;

    Merger(String consumer) {
        this.consumer = consumer;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        sources = Sources.of(context);
        waiting = new ArrayList<>();
        sources.tasks().forEach(task -> waiting.add(new ArrayDeque<>()));
        promised = new long[waiting.size()];
        Arrays.fill(promised, Long.MIN_VALUE);
        List<Integer> consumers = new ArrayList<>(context.getComponentTasks(consumer));
        Collections.sort(consumers);
        sender =
                new Sender(
                        (task, tuple) -> collector.emitDirect(task, tuple),
                        List.of(consumers.get(context.getThisTaskIndex())),
                        true);
        Run.current().isPrepared();
    }

    @Override
    public void execute(Tuple tuple) {
        Event event = (Event) tuple.getValue(0);
        int source = sources.indexOf(tuple);
        waiting.get(source).add(event);
        promised[source] = event.order();
        for (Event next = nextReady(); next != null; next = nextReady()) {
            switch (next.kind()) {
                case Event.DATA -> sender.deal(next);
                case Event.PROMISE -> sender.promise(next.order());
                default -> {
                    if (sources.end()) {
                        sender.end(next.order());
                    }
                }
            }
        }
    }

    /** Returns the first event if no producer can still send an earlier one, else null. */
    private Event nextReady() {
        int firstSource = 0;
        long firstOrder = Long.MAX_VALUE;
        for (int source = 0; source < promised.length; source++) {
            Event first = waiting.get(source).peek();
            long sourceOrder = first == null ? promised[source] : first.order();
            if (sourceOrder < firstOrder) {
                firstOrder = sourceOrder;
                firstSource = source;
            }
        }
        return waiting.get(firstSource).poll();
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        Sender.declareOutput(declarer);
    }
}
