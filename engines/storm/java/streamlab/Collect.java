package streamlab;

import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

/** A sink: stores the records of the timed phase in the order of their arrival. */
final class Collect extends BaseRichBolt {
    private transient Run run;
    private transient Sources sources;
    private transient Answer answer;
    private transient Steps steps;
    private transient int phase;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        run = Run.current();
        sources = Sources.of(context);
        run.channels.read(context.getThisTaskId(), sources.tasks());
        answer = run.answers[context.getThisTaskIndex()];
        steps = run.newSteps();
        run.isPrepared();
    }

    @Override
    public void execute(Tuple tuple) {
        Event event = (Event) tuple.getValue(0);
        if (event.kind() == Event.END && sources.end()) {
            run.hasEnded(phase++);
        } else if (event.kind() == Event.DATA && run.job.isTimed(phase)) {
            event.put(answer.row(), run.job.ts(phase, event.order()));
            long nowNs = System.nanoTime();
            answer.countLatency(nowNs - event.handedOverNs());
            steps.countOutput(nowNs - event.handedOverNs(), nowNs);
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {}
}
