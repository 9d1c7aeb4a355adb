package streamlab.handcrafted;

import java.io.Serializable;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import streamlab.Spout;

/** Emits events, with their key if they have one, and markers on a separate stream. */
final class EventSpout<E> extends Spout<E> {
    /** Returns the key of an event. */
    interface KeyOf<E> extends Serializable {
        int key(E event);
    }

    private final KeyOf<E> keyOf;
    private transient SpoutOutputCollector collector;

    /** Creates a spout; `keyOf` is null if events have no key. */
    EventSpout(MakeEvent<E> make, KeyOf<E> keyOf) {
        super(make);
        this.keyOf = keyOf;
    }

    @Override
    protected void start(SpoutOutputCollector collector) {
        this.collector = collector;
    }

    @Override
    protected void emit(E event) {
        collector.emit(keyOf == null ? new Values(event) : new Values(event, keyOf.key(event)));
    }

    @Override
    protected void emitMarker(long ts) {
        collector.emit(MarkedBolt.MARKERS, new Values(ts));
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(keyOf == null ? new Fields("event") : new Fields("event", "key"));
        declarer.declareStream(MarkedBolt.MARKERS, new Fields("ts"));
    }
}
