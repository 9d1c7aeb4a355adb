package streamlab.typed;

import streamlab.Job;
import streamlab.queries.AdEvent;
import streamlab.queries.Lookup;
import streamlab.queries.Output.Enriched;

/** Query I: adds the campaign of the ad. */
final class Enrich extends OpStateless<AdEvent, Enriched> {
    private final Lookup campaigns;

    Enrich(Job job) {
        campaigns = Lookup.of(job);
    }

    @Override
    void onItem(long key, AdEvent event, Out<Enriched> out) {
        out.emit(0, new Enriched(event, campaigns.find(event.ad())));
    }
}
