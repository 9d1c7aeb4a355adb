package streamlab.handcrafted;

import org.apache.storm.tuple.Tuple;
import streamlab.Job;
import streamlab.queries.Output.CampaignViews;

/** Query V: counts the views of each campaign by window. */
final class TumblingViews extends MarkedBolt {
    private transient Blocks<long[]> windows;

    @Override
    void begin(Job job) {
        windows = new Blocks<>(job.time("query.window_ms"), () -> new long[1]);
    }

    @Override
    void take(Tuple tuple) {
        windows.valueAt(tuple.getLong(1), tuple.getInteger(0))[0]++;
    }

    @Override
    void close(long ts) {
        windows.close(ts)
                .forEach((campaign, views) -> store(new CampaignViews(ts, campaign, views[0])));
    }
}
