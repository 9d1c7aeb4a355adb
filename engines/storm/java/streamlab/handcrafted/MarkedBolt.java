package streamlab.handcrafted;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import streamlab.Answer;
import streamlab.Job;
import streamlab.Run;
import streamlab.Spout;
import streamlab.queries.Output;

/**
 * A bolt that counts markers: a block has ended once each task upstream has sent its marker. Events of later
 * blocks may come earlier. A bolt without output fields is the last one; it stores what it emits.
 */
abstract class MarkedBolt extends BaseRichBolt {
    static final String MARKERS = "markers";

    private final String[] fields;
    private transient OutputCollector collector;
    private transient Run run;
    private transient Answer answer;
    private transient int upstream;
    private transient Map<Long, Integer> received;
    private transient int phase;

    MarkedBolt(String... fields) {
        this.fields = fields;
    }

    /** Begins a phase, without state. */
    void begin(Job job) {}

    abstract void take(Tuple tuple);

    /** Ends a block; called in order of time. */
    void close(long ts) {}

    @Override
    public final void prepare(
            Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        run = Run.current();
        received = new HashMap<>();
        for (GlobalStreamId input : context.getThisSources().keySet()) {
            if (input.get_streamId().equals(MARKERS)) {
                upstream += context.getComponentTasks(input.get_componentId()).size();
            }
        }
        answer = isLast() ? run.answers[context.getThisTaskIndex()] : null;
        begin(run.job);
        run.isPrepared();
    }

    private boolean isLast() {
        return fields.length == 0;
    }

    @Override
    public final void execute(Tuple tuple) {
        if (!tuple.getSourceStreamId().equals(MARKERS)) {
            take(tuple);
            return;
        }
        long ts = tuple.getLong(0);
        if (received.merge(ts, 1, Integer::sum) == upstream) {
            received.remove(ts);
            pass(ts);
        }
    }

    private void pass(long ts) {
        if (ts == Spout.END) {
            end();
        } else {
            close(ts);
        }
        if (!isLast()) {
            collector.emit(MARKERS, new Values(ts));
        }
    }

    private void end() {
        if (!run.job.isTimed(phase)) {
            begin(run.job);
        }
        if (isLast()) {
            run.hasEnded(phase);
        }
        phase++;
    }

    final void emit(Object... values) {
        collector.emit(new Values(values));
    }

    final void store(Output row) {
        if (run.job.isTimed(phase)) {
            row.put(answer.row());
        }
    }

    @Override
    public final void declareOutputFields(OutputFieldsDeclarer declarer) {
        if (!isLast()) {
            declarer.declare(new Fields(fields));
            declarer.declareStream(MARKERS, new Fields("ts"));
        }
    }
}
