package streamlab;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * The state of a step in a key-value store: entries by key, and entries by time and key, which are due at their time.
 * Times are above 0, and keys are not negative.
 */
final class State {
    static final long[] NONE = {};

    private final KeyValueStore<long[], long[]> store;
    private final TreeSet<Long> times = new TreeSet<>();

    State(KeyValueStore<long[], long[]> store) {
        this.store = store;
    }

    static StoreBuilder<KeyValueStore<long[], long[]>> builder(String name) {
        return Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore(name), numbers(), numbers())
                .withLoggingDisabled()
                .withCachingDisabled();
    }

    /** Stores numbers as big-endian bytes, which have the same order if no number is negative. */
    private static Serde<long[]> numbers() {
        return Serdes.serdeFrom(
                (topic, values) -> {
                    if (values == null) {
                        return null;
                    }
                    ByteBuffer bytes = ByteBuffer.allocate(8 * values.length);
                    bytes.asLongBuffer().put(values);
                    return bytes.array();
                },
                (topic, bytes) -> {
                    if (bytes == null) {
                        return null;
                    }
                    long[] values = new long[bytes.length / 8];
                    ByteBuffer.wrap(bytes).asLongBuffer().get(values);
                    return values;
                });
    }

    /** Returns a copy of the entry of a key, or null. */
    long[] get(long key) {
        return get(0, key);
    }

    void put(long key, long[] value) {
        store.put(new long[] {0, key}, value);
    }

    void remove(long key) {
        store.delete(new long[] {0, key});
    }

    /** Returns a copy of the entry of a time and key, or null. */
    long[] get(long due, long key) {
        return store.get(new long[] {due, key});
    }

    void put(long due, long key, long[] value) {
        times.add(due);
        store.put(new long[] {due, key}, value);
    }

    /** Removes all entries that are due up to a time, in the order of time and key, and passes them to a step. */
    void advance(long until, Step step, Output out) {
        while (!times.isEmpty() && times.first() <= until) {
            long due = times.pollFirst();
            List<KeyValue<long[], long[]>> entries = new ArrayList<>();
            try (KeyValueIterator<long[], long[]> dueEntries =
                    store.range(new long[] {due, 0}, new long[] {due, Long.MAX_VALUE})) {
                dueEntries.forEachRemaining(entries::add);
            }
            for (KeyValue<long[], long[]> entry : entries) {
                store.delete(entry.key);
                out.at(due, Output.NO_EVENT, 0);
                step.due(due, entry.key[1], entry.value, this, out);
            }
        }
    }
}
