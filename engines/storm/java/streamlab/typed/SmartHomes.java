package streamlab.typed;

import java.util.Comparator;
import java.util.TreeMap;
import streamlab.Job;
import streamlab.queries.Devices;
import streamlab.queries.Line;
import streamlab.queries.Minute;
import streamlab.queries.Output.Prediction;
import streamlab.queries.Reading;
import streamlab.queries.Trees;

/** The prediction of power usage: JFM, SORT, LI, Map, SORT, AVG, Predict (the paper's figure 5). */
final class SmartHomes {
    private SmartHomes() {}

    record OfPlug(long ts, long loadMw, long device) {}

    record OfDevice(long ts, long loadMw) {}

    record Averaged(long ts, long second, long loadMw) {}

    /** Joins the table of devices, retains types of devices, and makes the plug the key. */
    static final class JoinFilterMap extends OpStateless<Reading, OfPlug> {
        private final Devices devices;

        JoinFilterMap(Job job) {
            devices = new Devices(job);
        }

        @Override
        void onItem(long key, Reading reading, Out<OfPlug> out) {
            int type = devices.type(reading);
            if (type != Devices.DROPPED) {
                out.emit(reading.plug(), new OfPlug(reading.ts(), reading.loadMw(), type));
            }
        }
    }

    /** Fills the gaps between a plug's readings. */
    static final class Interpolate extends OpKeyedOrdered<OfPlug, OfPlug, Line> {
        private final long longestGapS;

        Interpolate(Job job) {
            longestGapS = job.time("query.longest_gap_s");
        }

        @Override
        Comparator<OfPlug> order() {
            return Comparator.comparingLong(OfPlug::ts)
                    .thenComparingLong(OfPlug::loadMw)
                    .thenComparingLong(OfPlug::device);
        }

        @Override
        Line initialState() {
            return null;
        }

        @Override
        Line onItem(Line line, long plug, OfPlug reading, Out<OfPlug> out) {
            return Line.fill(
                    line,
                    reading.ts,
                    reading.loadMw,
                    longestGapS,
                    (second, loadMw) -> out.emit(plug, new OfPlug(second, loadMw, reading.device)));
        }
    }

    /** Makes the type of device the key. */
    static final class ByDevice extends OpStateless<OfPlug, OfDevice> {
        @Override
        void onItem(long plug, OfPlug load, Out<OfDevice> out) {
            out.emit(load.device, new OfDevice(load.ts, load.loadMw));
        }
    }

    /** Emits the average load of a second once no line can reach it any more. */
    static final class Average
            extends OpKeyedOrdered<OfDevice, Averaged, TreeMap<Long, long[]>> {
        private final long delayS;

        Average(Job job) {
            delayS = job.time("markers") + job.time("query.longest_gap_s");
        }

        @Override
        Comparator<OfDevice> order() {
            return Comparator.comparingLong(OfDevice::ts).thenComparingLong(OfDevice::loadMw);
        }

        @Override
        TreeMap<Long, long[]> initialState() {
            return new TreeMap<>();
        }

        @Override
        TreeMap<Long, long[]> onItem(
                TreeMap<Long, long[]> sums, long device, OfDevice load, Out<Averaged> out) {
            long[] sum = sums.computeIfAbsent(load.ts, any -> new long[2]);
            sum[0] += load.loadMw;
            sum[1]++;
            return sums;
        }

        @Override
        TreeMap<Long, long[]> onMarker(
                TreeMap<Long, long[]> sums, long device, long ts, Out<Averaged> out) {
            while (!sums.isEmpty() && sums.firstKey() <= ts - delayS) {
                var first = sums.pollFirstEntry();
                long loadMw = Line.average(first.getValue()[0], first.getValue()[1]);
                out.emit(device, new Averaged(ts, first.getKey(), loadMw));
            }
            return sums;
        }
    }

    /** Applies the tree of the type of device. */
    static final class Predict extends OpKeyedOrdered<Averaged, Prediction, Minute> {
        private final Trees trees;

        Predict(Job job) {
            trees = new Trees(job);
        }

        @Override
        Minute initialState() {
            return new Minute();
        }

        @Override
        Minute onItem(Minute minute, long device, Averaged load, Out<Prediction> out) {
            long minuteMj = minute.add(load.second, load.loadMw);
            long joules = trees.predict(device, load.second, load.loadMw, minuteMj);
            out.emit(
                    device,
                    new Prediction(load.ts, device, load.second, load.loadMw, minuteMj, joules));
            return minute;
        }
    }
}
