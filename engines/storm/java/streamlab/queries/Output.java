package streamlab.queries;

import java.nio.ByteBuffer;

/** A row of an answer; the adapter reads its fields as 64-bit integers. */
public interface Output {
    void put(ByteBuffer row);

    /** Query I. */
    record Enriched(AdEvent event, int campaign) implements Output {
        @Override
        public void put(ByteBuffer row) {
            row.putLong(event.ts()).putLong(event.user()).putLong(event.page());
            row.putLong(event.ad()).putLong(event.type()).putLong(campaign);
        }
    }

    /** Query II. */
    record Activity(long ts, long user, Actions actions) implements Output {
        @Override
        public void put(ByteBuffer row) {
            row.putLong(ts).putLong(user);
            row.putLong(actions.views()).putLong(actions.clicks()).putLong(actions.purchases());
        }
    }

    /** Query III. */
    record LocationHistory(long ts, long location, long events, Actions actions, long lastTs)
            implements Output {
        @Override
        public void put(ByteBuffer row) {
            row.putLong(ts).putLong(location).putLong(events);
            row.putLong(actions.views()).putLong(actions.clicks()).putLong(actions.purchases());
            row.putLong(lastTs);
        }
    }

    /** Queries IV and V. */
    record CampaignViews(long ts, long campaign, long views) implements Output {
        @Override
        public void put(ByteBuffer row) {
            row.putLong(ts).putLong(campaign).putLong(views);
        }
    }

    /** Query VI. */
    record UserCluster(long ts, long location, int cluster, long users, long[] meanQ8)
            implements Output {
        @Override
        public void put(ByteBuffer row) {
            row.putLong(ts).putLong(location).putLong(cluster).putLong(users);
            for (long coordinate : meanQ8) {
                row.putLong(coordinate);
            }
        }
    }

    /** The prediction for a type of device at a second. */
    record Prediction(
            long ts, long device, long second, long loadMw, long minuteMj, long next10MinJ)
            implements Output {
        @Override
        public void put(ByteBuffer row) {
            row.putLong(ts).putLong(device).putLong(second);
            row.putLong(loadMw).putLong(minuteMj).putLong(next10MinJ);
        }
    }
}
