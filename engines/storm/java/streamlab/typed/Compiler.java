package streamlab.typed;

import org.apache.storm.generated.StormTopology;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import streamlab.Job;
import streamlab.queries.Inputs;

/**
 * Compiles the deployment of a typed graph to a topology (the paper's section 5): a bolt for each vertex,
 * with the MRG and SORT before it, and splitters in place of Storm's groupings.
 */
public final class Compiler {
    private Compiler() {}

    public static StormTopology compile(Job job) {
        TopologyBuilder builder = new TopologyBuilder();
        for (Unit unit : Unit.all(job)) {
            if (unit.inputs().isEmpty()) {
                builder.setSpout(
                        unit.name(), new PairSpout<>(Inputs.of(job.workload)), unit.degree());
                continue;
            }
            BoltDeclarer bolt = builder.setBolt(unit.name(), new VertexBolt(unit), unit.degree());
            for (String input : unit.inputs()) {
                bolt.customGrouping(input, new Splitter(unit.route()));
            }
        }
        return builder.createTopology();
    }
}
