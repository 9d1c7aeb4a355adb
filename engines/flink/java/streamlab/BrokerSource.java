package streamlab;

import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * Adds a source that reads from a broker. The lab compiles the implementation only for a task that needs it, because
 * only the broker's environment has the connector.
 */
interface BrokerSource {
    /** Adds a source of the events of some kinds (one bit each), with a number of tasks. */
    SingleOutputStreamOperator<Event> add(
            StreamExecutionEnvironment env, Job job, Run.Id run, int kinds, int tasks, String name);

    static BrokerSource find() {
        try {
            Class<?> implementation = Class.forName("streamlab.KafkaEvents");
            return (BrokerSource) implementation.getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("the programs for brokers are not compiled", error);
        }
    }
}
