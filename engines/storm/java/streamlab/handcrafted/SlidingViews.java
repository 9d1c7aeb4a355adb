package streamlab.handcrafted;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.tuple.Tuple;
import streamlab.Job;
import streamlab.queries.Output.CampaignViews;

/** Query IV: counts the views of each campaign by block, and adds up the last blocks. */
final class SlidingViews extends MarkedBolt {
    private transient long blocksInWindow;
    private transient Blocks<long[]> blocks;
    private transient ArrayDeque<Map<Long, long[]>> window;
    private transient Map<Long, Long> views;

    @Override
    void begin(Job job) {
        blocksInWindow = job.time("query.window_ms") / job.time("markers");
        blocks = new Blocks<>(job.time("markers"), () -> new long[1]);
        window = new ArrayDeque<>();
        views = new HashMap<>();
    }

    @Override
    void take(Tuple tuple) {
        blocks.valueAt(tuple.getLong(1), tuple.getInteger(0))[0]++;
    }

    @Override
    void close(long ts) {
        Map<Long, long[]> block = blocks.close(ts);
        window.add(block);
        block.forEach((campaign, count) -> views.merge(campaign, count[0], Long::sum));
        if (window.size() > blocksInWindow) {
            window.poll().forEach((campaign, count) -> views.merge(campaign, -count[0], Long::sum));
        }
        views.values().removeIf(count -> count == 0);
        views.forEach((campaign, count) -> store(new CampaignViews(ts, campaign, count)));
    }
}
