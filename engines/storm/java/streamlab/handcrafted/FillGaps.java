package streamlab.handcrafted;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.tuple.Tuple;
import streamlab.Job;
import streamlab.queries.Devices;
import streamlab.queries.Line;
import streamlab.queries.Reading;

/** Smart homes: sorts each plug's readings of a block, and fills the gaps between them. */
final class FillGaps extends MarkedBolt {
    private static final Comparator<Reading> ORDER =
            Comparator.comparingLong(Reading::ts)
                    .thenComparingInt(Reading::watts)
                    .thenComparingInt(Reading::device);

    private transient Blocks<List<Reading>> blocks;
    private transient Map<Long, Line> lines;
    private transient Devices devices;
    private transient long longestGapS;

    FillGaps() {
        super("key", "second", "load_mw");
    }

    @Override
    void begin(Job job) {
        blocks = new Blocks<>(job.time("markers"), ArrayList::new);
        lines = new HashMap<>();
        devices = new Devices(job);
        longestGapS = job.time("query.longest_gap_s");
    }

    @Override
    void take(Tuple tuple) {
        Reading reading = (Reading) tuple.getValue(0);
        int type = devices.type(reading);
        if (type != Devices.DROPPED) {
            blocks.of(reading.ts(), reading.plug())
                    .add(new Reading(reading.ts(), reading.plug(), type, reading.watts()));
        }
    }

    @Override
    void close(long ts) {
        blocks.close(ts)
                .forEach(
                        (plug, readings) -> {
                            readings.sort(ORDER);
                            for (Reading reading : readings) {
                                lines.put(plug, fill(lines.get(plug), reading));
                            }
                        });
    }

    private Line fill(Line line, Reading reading) {
        return Line.fill(
                line,
                reading.ts(),
                reading.loadMw(),
                longestGapS,
                (second, loadMw) -> emit(reading.device(), second, loadMw));
    }
}
