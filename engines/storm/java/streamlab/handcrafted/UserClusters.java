package streamlab.handcrafted;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.apache.storm.tuple.Tuple;
import streamlab.Job;
import streamlab.queries.Actions;
import streamlab.queries.KMeans;
import streamlab.queries.Output.UserCluster;

/** Query VI: clusters a location's users of a period, in the order of their ids. */
final class UserClusters extends MarkedBolt {
    private transient Blocks<TreeMap<Long, Actions>> users;
    private transient int k;
    private transient int iterations;

    @Override
    void begin(Job job) {
        users = new Blocks<>(job.time("query.period_ms"), TreeMap::new);
        k = job.number("query.clusters");
        iterations = job.number("query.iterations");
    }

    @Override
    void take(Tuple tuple) {
        users.valueIn(tuple.getLong(1), tuple.getInteger(0))
                .put(tuple.getLong(2), (Actions) tuple.getValue(3));
    }

    @Override
    void close(long ts) {
        users.close(ts)
                .forEach(
                        (location, byId) -> {
                            List<Actions> points = new ArrayList<>(byId.values());
                            KMeans.Found[] found = KMeans.cluster(points, k, iterations);
                            for (int c = 0; c < found.length; c++) {
                                store(
                                        new UserCluster(
                                                ts, location, c, found[c].points(), found[c].meanQ8()));
                            }
                        });
    }
}
