package streamlab;

import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

/** An instance of the workload's operator. */
final class Operator extends BaseRichBolt {
    private final String consumer;
    private transient Rule rule;
    private transient Sources sources;
    private transient Sender sender;

    Operator(String consumer) {
        this.consumer = consumer;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        Run run = Run.current();
        rule = Rule.of(run.job.workload);
        sources = Sources.of(context);
        run.channels.read(context.getThisTaskId(), sources.tasks());
        sender =
                Sender.toAll(
                        context, consumer, (task, tuple) -> collector.emitDirect(task, tuple));
        run.isPrepared();
    }

    @Override
    public void execute(Tuple tuple) {
        Event event = (Event) tuple.getValue(0);
        switch (event.kind()) {
            case Event.DATA -> {
                if (rule.forwards(event)) {
                    sender.deal(event);
                }
                sender.countRow(event.order());
            }
            case Event.PROMISE -> sender.promise(event.order());
            default -> {
                if (sources.end()) {
                    rule.reset();
                    sender.end(event.order());
                }
            }
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        Sender.declareOutput(declarer);
    }
}
