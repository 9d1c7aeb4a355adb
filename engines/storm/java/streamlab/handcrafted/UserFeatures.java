package streamlab.handcrafted;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.tuple.Tuple;
import streamlab.Job;

/** Query VI: adds up each user's actions, and emits them at the end of a period with events of the user. */
final class UserFeatures extends MarkedBolt {
    private transient Blocks<Counts> periods;
    private transient Map<Long, Counts> totals;

    UserFeatures() {
        super("key", "ts", "user", "actions");
    }

    @Override
    void begin(Job job) {
        periods = new Blocks<>(job.time("query.period_ms"), Counts::new);
        totals = new HashMap<>();
    }

    @Override
    void take(Tuple tuple) {
        long ts = tuple.getLong(1);
        Counts counts = periods.valueAt(ts, tuple.getInteger(0));
        counts.count(ts, tuple.getByte(2));
        counts.location = tuple.getInteger(3);
    }

    @Override
    void close(long ts) {
        periods.close(ts)
                .forEach(
                        (user, counts) -> {
                            Counts total = totals.computeIfAbsent(user, any -> new Counts());
                            total.add(counts);
                            emit(total.location, ts, user, total.actions());
                        });
    }
}
