package streamlab.queries;

import java.nio.ByteBuffer;

/** A row of an answer; the adapter reads its fields as whole numbers of 64 bits. */
public interface Output {
    void put(ByteBuffer to);

    /** Query I. */
    record Enriched(AdEvent event, int campaign) implements Output {
        @Override
        public void put(ByteBuffer to) {
            to.putLong(event.ts()).putLong(event.user()).putLong(event.page());
            to.putLong(event.ad()).putLong(event.type()).putLong(campaign);
        }
    }

    /** Query II. */
    record Activity(long ts, long user, Actions actions) implements Output {
        @Override
        public void put(ByteBuffer to) {
            to.putLong(ts).putLong(user);
            to.putLong(actions.views()).putLong(actions.clicks()).putLong(actions.purchases());
        }
    }

    /** Query III. */
    record LocationHistory(long ts, long location, long events, Actions actions, long lastTs)
            implements Output {
        @Override
        public void put(ByteBuffer to) {
            to.putLong(ts).putLong(location).putLong(events);
            to.putLong(actions.views()).putLong(actions.clicks()).putLong(actions.purchases());
            to.putLong(lastTs);
        }
    }

    /** Queries IV and V. */
    record CampaignViews(long ts, long campaign, long views) implements Output {
        @Override
        public void put(ByteBuffer to) {
            to.putLong(ts).putLong(campaign).putLong(views);
        }
    }

    /** Query VI. */
    record UserCluster(long ts, long location, int cluster, long users, long[] meanQ8)
            implements Output {
        @Override
        public void put(ByteBuffer to) {
            to.putLong(ts).putLong(location).putLong(cluster).putLong(users);
            for (long coordinate : meanQ8) {
                to.putLong(coordinate);
            }
        }
    }

    /** The prediction for a type of device at a second. */
    record Prediction(
            long ts, long device, long second, long loadMw, long minuteMj, long next10MinJ)
            implements Output {
        @Override
        public void put(ByteBuffer to) {
            to.putLong(ts).putLong(device).putLong(second);
            to.putLong(loadMw).putLong(minuteMj).putLong(next10MinJ);
        }
    }
}
