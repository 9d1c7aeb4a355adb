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
    private transient Run run;
    private transient Rule rule;
    private transient Sources sources;
    private transient Sender sender;
    private transient Steps steps;
    private transient int phase;

    Operator(String consumer) {
        this.consumer = consumer;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        run = Run.current();
        steps = run.newSteps();
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
                if (run.job.isTimed(phase)) {
                    steps.count(Steps.CONSUMED, System.nanoTime());
                }
            }
            case Event.PROMISE -> sender.promise(event.order());
            default -> {
                if (sources.end()) {
                    rule.reset();
                    sender.end(event.order());
                    phase++;
                }
            }
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        Sender.declareOutput(declarer);
    }
}
