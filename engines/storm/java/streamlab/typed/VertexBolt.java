package streamlab.typed;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import streamlab.Answer;
import streamlab.Run;
import streamlab.Spout;
import streamlab.queries.Output;

/** A vertex with the MRG and SORT before it; the last vertex also stores its output. */
final class VertexBolt extends BaseRichBolt {
    static final Fields ELEMENT = new Fields("element");

    private final Unit unit;
    private transient Operator operator;
    private transient Vertex vertex;
    private transient Merge merge;
    private transient List<Integer> sources;
    private transient OutputCollector collector;
    private transient Run run;
    private transient Answer answer;
    private transient boolean marks;
    private transient int phase;

    VertexBolt(Unit unit) {
        this.unit = unit;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        run = Run.current();
        int index = context.getThisTaskIndex();
        marks = unit.marks() && index == 0;
        answer = unit.isLast() ? run.answers[index] : null;
        operator = Queries.operators(run.job).get(unit.vertex());
        sources = new ArrayList<>();
        for (String input : unit.inputs()) {
            List<Integer> tasks = Tasks.of(context, input);
            boolean isForward = unit.route() == Splitter.Route.FORWARD;
            sources.addAll(isForward ? List.of(tasks.get(index)) : tasks);
        }
        merge =
                new Merge(sources.size()) {
                    @Override
                    void pair(Pair pair) {
                        vertex.item(pair.key(), pair.value());
                    }

                    @Override
                    void marker(long ts) {
                        pass(ts);
                    }
                };
        begin();
        run.isPrepared();
    }

    private void begin() {
        vertex = operator.start(unit.isLast() ? this::store : this::send, marks);
    }

    @Override
    public void execute(Tuple tuple) {
        merge.add(sources.indexOf(tuple.getSourceTask()), tuple.getValue(0));
    }

    private void pass(long ts) {
        if (ts == Spout.END) {
            end();
        } else {
            vertex.marker(ts);
        }
        if (!unit.isLast()) {
            collector.emit(new Values(new Marker(ts)));
        }
    }

    private void end() {
        begin();
        if (unit.isLast()) {
            run.hasEnded(phase);
        }
        phase++;
    }

    private void send(long key, Object value) {
        collector.emit(new Values(new Pair(key, value)));
    }

    private void store(long key, Object value) {
        if (run.job.isTimed(phase)) {
            ((Output) value).put(answer.row());
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        if (!unit.isLast()) {
            declarer.declare(ELEMENT);
        }
    }
}
