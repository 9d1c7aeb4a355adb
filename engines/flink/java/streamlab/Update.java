package streamlab;

import java.io.Serializable;
import org.apache.flink.api.common.state.KeyedStateStore;

/** Processes one event after the other. */
abstract class Update implements Serializable {
    /** The output row, which is reused. */
    final Answer row = new Answer();

    /** Called once, before any event. `keyed` is null if events are not partitioned by key. */
    void open(Run run, int task, KeyedStateStore keyed) throws Exception {}

    abstract void take(Event event, Out out) throws Exception;

    /** Takes rows of the answer; the caller may reuse the row. */
    interface Out {
        void collect(Answer row);
    }

    /** Sums transactions, and detects frauds. */
    final class Transactions implements Serializable {
        long sum;
        long model;

        void take(Event event, Out out) {
            if (event.value % Kind.MODULUS == model) {
                row.madeBy(event).kind = Kind.FRAUD;
                row.value = event.value;
                out.collect(row);
            }
            sum += event.value;
        }
    }
}
