package streamlab.typed;

import streamlab.Job;
import streamlab.queries.AdEvent;
import streamlab.queries.Lookup;

/** Queries IV and V: retains views, and makes the ad's campaign the key of their times. */
final class Views extends OpStateless<AdEvent, Long> {
    private final Lookup campaigns;

    Views(Job job) {
        campaigns = Lookup.of(job);
    }

    @Override
    void onItem(long key, AdEvent event, Out<Long> out) {
        if (event.type() == AdEvent.VIEW) {
            int campaign = campaigns.find(event.ad());
            if (campaign != Lookup.NONE) {
                out.emit(campaign, event.ts());
            }
        }
    }
}
