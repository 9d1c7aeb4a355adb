package streamlab.handcrafted;

import org.apache.storm.tuple.Tuple;
import streamlab.Job;
import streamlab.queries.AdEvent;
import streamlab.queries.Lookup;
import streamlab.queries.Output.Enriched;

/** Query I: adds the campaign of the ad. */
final class Enrich extends MarkedBolt {
    private transient Lookup campaigns;

    @Override
    void begin(Job job) {
        campaigns = Lookup.of(job);
    }

    @Override
    void take(Tuple tuple) {
        AdEvent event = (AdEvent) tuple.getValue(0);
        store(new Enriched(event, campaigns.find(event.ad())));
    }
}
