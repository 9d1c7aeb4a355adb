package streamlab;

import org.apache.storm.generated.StormTopology;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.topology.TopologyBuilder;

/**
 * Injectors, instances and as many sinks. With operator-layer determinism, a merger precedes each consumer
 * that has several producers; with communication-layer determinism, the consumer's channel merges.
 */
final class Layers {
    private static final String INJECTORS = "injector";
    private static final String INSTANCES = "instance";
    private static final String SINKS = "sink";
    private static final String MERGER = "merger of ";

    private final Job job;
    private final TopologyBuilder builder = new TopologyBuilder();

    private Layers(Job job) {
        this.job = job;
    }

    static boolean isMerger(String component) {
        return component.startsWith(MERGER);
    }

    static StormTopology build(Run run) {
        Layers layers = new Layers(run.job);
        int injectors = run.job.rows.length;
        int instances = run.job.workers;
        layers.builder.setSpout(
                INJECTORS, new Injector(layers.input(INSTANCES, injectors)), injectors);
        layers.add(INJECTORS, injectors, INSTANCES, new Operator(layers.input(SINKS, instances)));
        layers.add(INSTANCES, instances, SINKS, new Collect());
        return layers.builder.createTopology();
    }

    /** Returns the component that a consumer's producers send to: itself, or its mergers. */
    private String input(String consumer, int producers) {
        return job.mergesInOperators && producers > 1 ? MERGER + consumer : consumer;
    }

    private void add(String producer, int producers, String consumer, IRichBolt bolt) {
        String from = producer;
        String input = input(consumer, producers);
        if (!input.equals(consumer)) {
            connect(input, new Merger(consumer), from);
            from = input;
        }
        connect(consumer, bolt, from);
    }

    private void connect(String name, IRichBolt bolt, String from) {
        builder.setBolt(name, bolt, job.workers).directGrouping(from);
    }
}
