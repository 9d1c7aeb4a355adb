package streamlab.handcrafted;

import org.apache.storm.generated.StormTopology;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import streamlab.Job;
import streamlab.queries.AdEvent;
import streamlab.queries.Inputs;
import streamlab.queries.Reading;

/** The queries on Storm's own groupings; each bolt has a task for each worker. */
public final class Topologies {
    private static final String EVENTS = "events";
    private static final Fields KEY = new Fields("key");

    private final Job job;
    private final TopologyBuilder builder = new TopologyBuilder();

    private Topologies(Job job) {
        this.job = job;
    }

    public static StormTopology build(Job job) {
        Topologies topologies = new Topologies(job);
        switch (job.workload) {
            case "ad_enrichment" -> {
                topologies.spout(null);
                topologies.bolt("enrich", new Enrich(), EVENTS).shuffleGrouping(EVENTS);
            }
            case "user_activity" -> {
                topologies.spout((AdEvent event) -> event.user());
                topologies.bolt("count", new UserActivity(), EVENTS).fieldsGrouping(EVENTS, KEY);
            }
            case "location_history" -> {
                topologies.spout(null);
                topologies.bolt("locate", new Locate(false), EVENTS).shuffleGrouping(EVENTS);
                topologies.bolt("history", new LocationHistory(), "locate").fieldsGrouping("locate", KEY);
            }
            case "campaign_views" -> {
                topologies.spout(null);
                topologies.bolt("views", new Views(), EVENTS).shuffleGrouping(EVENTS);
                topologies.bolt("count", new SlidingViews(), "views").fieldsGrouping("views", KEY);
            }
            case "campaign_views_tumbling" -> {
                topologies.spout(null);
                topologies.bolt("views", new Views(), EVENTS).shuffleGrouping(EVENTS);
                topologies.bolt("count", new TumblingViews(), "views").fieldsGrouping("views", KEY);
            }
            case "user_clusters" -> {
                topologies.spout(null);
                topologies.bolt("locate", new Locate(true), EVENTS).shuffleGrouping(EVENTS);
                topologies.bolt("features", new UserFeatures(), "locate").fieldsGrouping("locate", KEY);
                topologies.bolt("clusters", new UserClusters(), "features").fieldsGrouping("features", KEY);
            }
            case "smart_home_prediction" -> {
                topologies.spout((Reading reading) -> reading.plug());
                topologies.bolt("fill", new FillGaps(), EVENTS).fieldsGrouping(EVENTS, KEY);
                topologies.bolt("predict", new Predict(), "fill").fieldsGrouping("fill", KEY);
            }
            default -> throw new IllegalArgumentException("no topology for " + job.workload);
        }
        return topologies.builder.createTopology();
    }

    @SuppressWarnings("unchecked")
    private <E> void spout(EventSpout.KeyOf<E> keyOf) {
        EventSpout.MakeEvent<E> make = (EventSpout.MakeEvent<E>) Inputs.of(job.workload);
        builder.setSpout(EVENTS, new EventSpout<>(make, keyOf), job.number("spouts"));
    }

    private BoltDeclarer bolt(String name, MarkedBolt bolt, String from) {
        return builder.setBolt(name, bolt, job.workers).allGrouping(from, MarkedBolt.MARKERS);
    }
}
