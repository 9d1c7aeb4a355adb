package streamlab.handcrafted;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.tuple.Tuple;
import streamlab.Job;
import streamlab.queries.Line;
import streamlab.queries.Minute;
import streamlab.queries.Output.Prediction;
import streamlab.queries.Trees;

/** Smart homes: averages the load of each type of device by second, and predicts from it. */
final class Predict extends MarkedBolt {
    private static final class Device {
        /** For each second, the sum and the number of its loads. */
        final TreeMap<Long, long[]> sums = new TreeMap<>();
        final Minute minute = new Minute();
    }

    private transient Map<Integer, Device> devices;
    private transient Trees trees;
    private transient long delayS;

    @Override
    void begin(Job job) {
        devices = new HashMap<>();
        trees = new Trees(job);
        delayS = job.time("markers") + job.time("query.longest_gap_s");
    }

    @Override
    void take(Tuple tuple) {
        Device device = devices.computeIfAbsent(tuple.getInteger(0), any -> new Device());
        long[] sum = device.sums.computeIfAbsent(tuple.getLong(1), any -> new long[2]);
        sum[0] += tuple.getLong(2);
        sum[1]++;
    }

    /** Predicts for the seconds that no line can reach any more, even if their block has not ended. */
    @Override
    void close(long ts) {
        devices.forEach(
                (type, device) -> {
                    while (!device.sums.isEmpty() && device.sums.firstKey() <= ts - delayS) {
                        var first = device.sums.pollFirstEntry();
                        long second = first.getKey();
                        long loadMw = Line.average(first.getValue()[0], first.getValue()[1]);
                        long minuteMj = device.minute.add(second, loadMw);
                        long joules = trees.predict(type, second, loadMw, minuteMj);
                        store(new Prediction(ts, type, second, loadMw, minuteMj, joules));
                    }
                });
    }
}
