package streamlab.handcrafted;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.tuple.Tuple;
import streamlab.Job;
import streamlab.queries.AdEvent;
import streamlab.queries.Output.Activity;
import streamlab.queries.Store;

/** Query II: counts each user's actions. */
final class UserActivity extends MarkedBolt {
    private transient Blocks<Counts> blocks;
    private transient Map<Long, Counts> totals;
    private transient Store database;

    @Override
    void begin(Job job) {
        blocks = new Blocks<>(job.time("markers"), Counts::new);
        totals = new HashMap<>();
        database = Store.of(job);
    }

    @Override
    void take(Tuple tuple) {
        AdEvent event = (AdEvent) tuple.getValue(0);
        blocks.valueAt(event.ts(), event.user()).count(event.ts(), event.type());
    }

    @Override
    void close(long ts) {
        blocks.close(ts)
                .forEach(
                        (user, counts) -> {
                            if (counts.actions().any()) {
                                Counts total = totals.computeIfAbsent(user, any -> new Counts());
                                total.add(counts);
                                Activity activity = new Activity(ts, user, total.actions());
                                database.put(activity);
                                store(activity);
                            }
                        });
    }
}
