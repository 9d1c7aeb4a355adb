package streamlab;

import java.io.Serializable;
import org.apache.flink.api.common.state.KeyedStateStore;

/** What a program does with one event after the other. */
interface Update extends Serializable {
    /** Called once, before any event. `keyed` is null where events are not partitioned by key. */
    void open(Run run, int task, KeyedStateStore keyed) throws Exception;

    void take(Event event, Out out) throws Exception;

    /** Takes rows of the answer; the row may be used again by the caller. */
    interface Out {
        void collect(Answer row);
    }
}
