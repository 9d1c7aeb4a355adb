package streamlab;

import org.apache.kafka.streams.state.KeyValueStore;

/** A program: updates the state of a row's key, and adds rows to the answer. */
@FunctionalInterface
interface Program {
    void update(int kind, int key, long value, KeyValueStore<Integer, Long> state, Collect out);

    int NO_USER = -1;

    static Program of(String workload) {
        return switch (workload) {
            case "event_window" -> Program::sum;
            case "keyed_counter" -> Program::count;
            case "page_view_join" -> Program::join;
            default -> throw new IllegalArgumentException("no program for " + workload);
        };
    }

    private static long of(KeyValueStore<Integer, Long> state, int key) {
        Long value = state.get(key);
        return value == null ? 0 : value;
    }

    /** Sums values; a barrier (kind 1) outputs the sum since the barrier before. */
    private static void sum(int kind, int key, long value, KeyValueStore<Integer, Long> state, Collect out) {
        if (kind == 0) {
            state.put(key, of(state, key) + value);
        } else {
            out.add(0, 0, of(state, key), 0);
            state.put(key, 0L);
        }
    }

    /** Counts increments; a read-reset (kind 1) outputs the count and resets it. */
    private static void count(int kind, int key, long value, KeyValueStore<Integer, Long> state, Collect out) {
        if (kind == 0) {
            state.put(key, of(state, key) + 1);
        } else {
            out.add(0, key, of(state, key), 0);
            state.put(key, 0L);
        }
    }

    /** Outputs each view with the metadata of its page; an update (kind 1) outputs the metadata that it replaces. */
    private static void join(int kind, int key, long value, KeyValueStore<Integer, Long> state, Collect out) {
        out.add(kind, key, kind == 0 ? value : NO_USER, of(state, key));
        if (kind == 1) {
            state.put(key, value);
        }
    }
}
