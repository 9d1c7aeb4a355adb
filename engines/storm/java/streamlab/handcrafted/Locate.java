package streamlab.handcrafted;

import org.apache.storm.tuple.Tuple;
import streamlab.Job;
import streamlab.queries.AdEvent;
import streamlab.queries.Lookup;

/** Queries III and VI: looks up the user's location, and emits actions by location or by user. */
final class Locate extends MarkedBolt {
    private final boolean byUser;
    private transient Lookup locations;

    Locate(boolean byUser) {
        super("key", "ts", "type", "location");
        this.byUser = byUser;
    }

    @Override
    void begin(Job job) {
        locations = Lookup.of(job);
    }

    @Override
    void take(Tuple tuple) {
        AdEvent event = (AdEvent) tuple.getValue(0);
        int location = locations.find(event.user());
        if (location != Lookup.NONE) {
            emit(byUser ? event.user() : location, event.ts(), event.type(), location);
        }
    }
}
