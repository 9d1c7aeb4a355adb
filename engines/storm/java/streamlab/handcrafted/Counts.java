package streamlab.handcrafted;

import streamlab.queries.Actions;
import streamlab.queries.AdEvent;

/** Counts events by type. */
final class Counts {
    int location;
    long events;
    long lastTs = Long.MIN_VALUE;
    private long views;
    private long clicks;
    private long purchases;

    void count(long ts, byte type) {
        events++;
        lastTs = Math.max(lastTs, ts);
        switch (type) {
            case AdEvent.VIEW -> views++;
            case AdEvent.CLICK -> clicks++;
            case AdEvent.PURCHASE -> purchases++;
            default -> {}
        }
    }

    void add(Counts block) {
        location = block.location;
        events += block.events;
        lastTs = Math.max(lastTs, block.lastTs);
        views += block.views;
        clicks += block.clicks;
        purchases += block.purchases;
    }

    Actions actions() {
        return new Actions(views, clicks, purchases);
    }
}
