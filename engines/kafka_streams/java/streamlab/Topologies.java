package streamlab;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.processor.TimestampExtractor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.state.Stores;

/** Builds the topology of a job: a program on the topics of a dataset, or the steps of a query. */
final class Topologies {
    private final Run run;
    private final List<Topics.Topic> topics;
    private final List<Step> steps;

    Topologies(Run run) {
        this.run = run;
        topics = Arrays.asList(run.job.topics.topics);
        steps = Queries.has(run.job.workload) ? Queries.of(run.job) : List.of();
    }

    Topology topology() {
        return steps.isEmpty() ? ofProgram() : ofQuery();
    }

    /** Returns the number of tasks: one for each partition of the topics, and of each repartition topic. */
    int tasks() {
        int partitions = topics.stream().mapToInt(Topics.Topic::partitions).max().orElse(0);
        return partitions + Math.max(0, steps.size() - 1) * Exchange.PARTITIONS;
    }

    /** Returns how often the run must call `ended`: for each partition, or for each task of the last step. */
    int ends() {
        if (steps.isEmpty()) {
            return topics.stream().mapToInt(Topics.Topic::partitions).sum();
        }
        return steps.size() == 1 ? 1 : Exchange.PARTITIONS;
    }

    private Topology ofProgram() {
        Topology topology = new Topology();
        String[] sources = new String[topics.size()];
        for (Topics.Topic topic : topics) {
            sources[topic.stream()] = "source-" + topic.stream();
            topology.addSource(
                    AutoOffsetReset.earliest(),
                    sources[topic.stream()],
                    new EventTime(run.job.topics),
                    new ByteArrayDeserializer(),
                    new ByteArrayDeserializer(),
                    topic.name());
        }
        topology.addProcessor("program", () -> new InOrder(run), sources);
        topology.addStateStore(
                Stores.keyValueStoreBuilder(
                                Stores.inMemoryKeyValueStore(InOrder.STORE), Serdes.Integer(), Serdes.Long())
                        .withLoggingDisabled()
                        .withCachingDisabled(),
                "program");
        return topology;
    }

    /** Connects the steps by repartition topics; the key of a record is its partition. */
    private Topology ofQuery() {
        StreamsBuilder builder = new StreamsBuilder();
        KStream<byte[], byte[]> events =
                builder.stream(
                        topics.stream().map(Topics.Topic::name).toList(),
                        Consumed.with(Serdes.ByteArray(), Serdes.ByteArray())
                                .withTimestampExtractor(new EventTime(run.job.topics))
                                .withOffsetResetPolicy(AutoOffsetReset.earliest()));
        KStream<Integer, byte[]> tuples = events.process(stage(0));
        for (int index = 1; index < steps.size(); index++) {
            builder.addStateStore(State.builder(Stage.store(index)));
            Repartitioned<Integer, byte[]> byKey =
                    Repartitioned.<Integer, byte[]>as("step-" + index)
                            .withKeySerde(Serdes.Integer())
                            .withValueSerde(Serdes.ByteArray())
                            .withNumberOfPartitions(Exchange.PARTITIONS)
                            .withStreamPartitioner((topic, key, value, count) -> Optional.of(Set.of(key)));
            tuples = tuples.repartition(byKey).process(stage(index), Stage.store(index));
        }
        return builder.build();
    }

    private ProcessorSupplier<Object, byte[], Integer, byte[]> stage(int index) {
        return () -> new Stage(run, steps, index);
    }

    /** Extracts the event time of a record's first row; Kafka Streams takes the records of all topics in this order. */
    private record EventTime(Topics topics) implements TimestampExtractor {
        @Override
        public long extract(ConsumerRecord<Object, Object> record, long partitionTime) {
            byte[] value = (byte[]) record.value();
            if (value == null || value.length < Rows.HEADER_BYTES + 24) {
                return Math.max(0, partitionTime);
            }
            long ts = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN).getLong(Rows.HEADER_BYTES + 16);
            return Math.max(0, ts - topics.first);
        }
    }
}
