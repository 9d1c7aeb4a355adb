package streamlab;

import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.NoStoppingOffsetsInitializer;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Reads the events of a dataset's topics with Flink's connector for Kafka.
 *
 * <p>Topics of a load grow during the run, and the number of their records is unknown, so the sources never end. The
 * events of each record are then followed by a mark. It carries the record's promise and becomes a watermark. The
 * promise of the last record is the end of time.
 */
final class KafkaEvents implements BrokerSource {
    /** A record has up to 1,000 rows. This limits the rows fetched before the clock starts. */
    private static final String RECORDS_A_POLL = "64";
    /** Average number of input events by which one partition may be ahead; `InOrder` stores them. */
    private static final long MOST_EVENTS = 1 << 20;

    private static final Duration COMPARE_EVERY = Duration.ofMillis(20);
    /** The row number of a mark. */
    private static final int MARK = -1;

    @Override
    public SingleOutputStreamOperator<Event> add(
            StreamExecutionEnvironment env, Job job, Run.Id run, int kinds, int tasks, String name) {
        List<Topics.Topic> topics =
                Arrays.stream(job.topics.topics)
                        .filter(topic -> (job.kinds[topic.stream()] & kinds) != 0)
                        .toList();
        if (job.offered) {
            Run.of(run).expectedEnds.add(topics.stream().mapToInt(Topics.Topic::partitions).sum());
        }
        KafkaSource<Event> source =
                KafkaSource.<Event>builder()
                        .setBootstrapServers(job.topics.broker)
                        .setTopics(topics.stream().map(Topics.Topic::name).toList())
                        .setStartingOffsets(OffsetsInitializer.earliest())
                        // Bounded even under a load, so that a task without partitions ends and delays no others.
                        .setBounded(
                                job.offered
                                        ? new NoStoppingOffsetsInitializer()
                                        : OffsetsInitializer.latest())
                        .setProperty("max.poll.records", RECORDS_A_POLL)
                        .setDeserializer(new Events(run, kinds))
                        .build();
        WatermarkStrategy<Event> strategy =
                WatermarkStrategy.<Event>forGenerator(context -> new Progress())
                        .withTimestampAssigner((event, ts) -> event.ts);
        if (!job.offered) {
            Duration ahead = Duration.ofMillis(job.timeOf(MOST_EVENTS));
            strategy = strategy.withWatermarkAlignment("events", ahead, COMPARE_EVERY);
        }
        SingleOutputStreamOperator<Event> events =
                env.fromSource(source, strategy, name, TypeInformation.of(Event.class))
                        .setParallelism(tasks);
        return job.offered ? events.filter(event -> event.row != MARK).setParallelism(tasks) : events;
    }

    /** Waits for the clock, then turns a record into the events of some kinds. */
    private static final class Events implements KafkaRecordDeserializationSchema<Event> {
        private final Run.Id run;
        private final int kinds;
        private transient Run shared;
        private transient Map<String, Integer> lastRows;

        Events(Run.Id run, int kinds) {
            this.run = run;
            this.kinds = kinds;
        }

        @Override
        public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Event> out) {
            if (shared == null) {
                shared = Run.of(run);
                lastRows = new HashMap<>();
            }
            shared.gate.join();
            Topics topics = shared.job.topics;
            Topics.Topic topic = topics.of(record.topic());
            String partition = "partition " + record.partition() + " of topic " + record.topic();
            String place = "record " + record.offset() + " in " + partition;
            Rows rows = new Rows(topics, topic, record.value(), place);
            long promise = rows.end ? Long.MAX_VALUE : rows.promise;
            if (!rows.isEmpty()) {
                lastRows.put(partition, rows.after(lastRows.getOrDefault(partition, -1), place));
                promise = Math.max(promise, rows.lastTs() - 1);
            }
            int count = 0;
            for (; !rows.isEmpty(); rows.next()) {
                int kind = rows.kind();
                if ((kinds >> kind & 1) == 0) {
                    continue;
                }
                Event event = new Event();
                event.ts = rows.ts();
                event.stream = topic.stream();
                event.row = rows.row();
                event.kind = kind;
                event.key = rows.key();
                event.value = rows.value(kind);
                out.collect(event);
                count++;
            }
            if (shared.paced && promise != Long.MIN_VALUE) {
                Event mark = new Event();
                mark.row = MARK;
                mark.ts = promise;
                out.collect(mark);
            }
            shared.received.add(count);
            shared.records.increment();
            if (rows.end) {
                shared.ends.increment();
            }
        }

        @Override
        public TypeInformation<Event> getProducedType() {
            return TypeInformation.of(Event.class);
        }
    }

    /** Promises, for each partition, that all events before the time of the last one have been read. */
    private static final class Progress implements WatermarkGenerator<Event> {
        private static final int EVENTS_A_MARK = 64;

        private long last = Long.MIN_VALUE;
        private int events;

        @Override
        public void onEvent(Event event, long ts, WatermarkOutput output) {
            if (event.row == MARK) {
                output.emitWatermark(new Watermark(event.ts));
                return;
            }
            last = event.ts;
            if (++events % EVENTS_A_MARK == 0) {
                onPeriodicEmit(output);
            }
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {
            if (last != Long.MIN_VALUE) {
                output.emitWatermark(new Watermark(last - 1));
            }
        }
    }
}
