package streamlab.handcrafted;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.tuple.Tuple;
import streamlab.Job;
import streamlab.queries.Output;

/** Query III: adds up the history of each location. */
final class LocationHistory extends MarkedBolt {
    private transient Blocks<Counts> blocks;
    private transient Map<Long, Counts> totals;

    @Override
    void begin(Job job) {
        blocks = new Blocks<>(job.time("markers"), Counts::new);
        totals = new HashMap<>();
    }

    @Override
    void take(Tuple tuple) {
        long ts = tuple.getLong(1);
        blocks.valueAt(ts, tuple.getInteger(0)).count(ts, tuple.getByte(2));
    }

    @Override
    void close(long ts) {
        blocks.close(ts)
                .forEach(
                        (location, counts) -> {
                            Counts total = totals.computeIfAbsent(location, any -> new Counts());
                            total.add(counts);
                            store(
                                    new Output.LocationHistory(
                                            ts, location, total.events, total.actions(), total.lastTs));
                        });
    }
}
