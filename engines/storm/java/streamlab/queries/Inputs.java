package streamlab.queries;

import streamlab.Spout;

/** Chooses the class of events that the rows of a workload's input become. */
public final class Inputs {
    private Inputs() {}

    public static Spout.MakeEvent<?> of(String workload) {
        Spout.MakeEvent<AdEvent> ads = AdEvent::of;
        Spout.MakeEvent<Reading> readings = Reading::of;
        return workload.equals("smart_home_prediction") ? readings : ads;
    }
}
