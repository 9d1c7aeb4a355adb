package streamlab.queries;

import streamlab.Spout;

/** What the rows of a workload's input are. */
public final class Inputs {
    private Inputs() {}

    public static Spout.MakeEvent<?> of(String workload) {
        Spout.MakeEvent<AdEvent> ads = AdEvent::of;
        Spout.MakeEvent<Reading> readings = Reading::of;
        return workload.equals("smart_home_prediction") ? readings : ads;
    }
}
