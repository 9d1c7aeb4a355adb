package streamlab.typed;

import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Values;
import streamlab.Spout;

/** A source of a typed graph: pairs with the unit key, and markers. */
final class PairSpout<E> extends Spout<E> {
    private transient SpoutOutputCollector collector;

    PairSpout(MakeEvent<E> make) {
        super(make);
    }

    @Override
    protected void start(SpoutOutputCollector collector) {
        this.collector = collector;
    }

    @Override
    protected void emit(E event) {
        collector.emit(new Values(new Pair(0, event)));
    }

    @Override
    protected void emitMarker(long ts) {
        collector.emit(new Values(new Marker(ts)));
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(VertexBolt.ELEMENT);
    }
}
