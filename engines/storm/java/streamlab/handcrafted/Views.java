package streamlab.handcrafted;

import org.apache.storm.tuple.Tuple;
import streamlab.Job;
import streamlab.queries.AdEvent;
import streamlab.queries.Lookup;

/** Queries IV and V: retains views, and looks up the campaign of the ad. */
final class Views extends MarkedBolt {
    private transient Lookup campaigns;

    Views() {
        super("key", "ts");
    }

    @Override
    void begin(Job job) {
        campaigns = Lookup.of(job);
    }

    @Override
    void take(Tuple tuple) {
        AdEvent event = (AdEvent) tuple.getValue(0);
        if (event.type() == AdEvent.VIEW) {
            int campaign = campaigns.find(event.ad());
            if (campaign != Lookup.NONE) {
                emit(campaign, event.ts());
            }
        }
    }
}
