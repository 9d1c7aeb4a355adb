package streamlab;

import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;

/** What tasks do with events where Flink alone spreads the work. */
final class Automatic {
    private Automatic() {}

    /** Sums between barriers of one share of the values, numbered; they are added up behind. */
    static final class PartialSums extends Update {
        private long sum;
        private int window;

        @Override
        void take(Event event, Out out) {
            if (event.kind == Kind.BULK) {
                sum += event.value;
                return;
            }
            row.madeBy(event).key = window++;
            row.value = sum;
            sum = 0;
            out.collect(row);
        }
    }

    /** Views of a page with its metadata, which Flink keeps for each page. */
    static final class PageView extends Update {
        private transient ValueState<Integer> metadata;

        @Override
        void open(Run run, int task, KeyedStateStore keyed) {
            metadata = keyed.getState(new ValueStateDescriptor<>("metadata", Integer.class));
        }

        @Override
        void take(Event event, Out out) throws Exception {
            Integer known = metadata.value();
            row.madeBy(event).kind = event.kind;
            row.key = event.key;
            row.other = known == null ? 0 : known;
            if (event.kind == Kind.BULK) {
                row.value = event.value;
            } else {
                row.value = Kind.NO_USER;
                metadata.update((int) event.value);
            }
            out.collect(row);
        }
    }

    /** A counter for each key, which Flink keeps. */
    static final class Counter extends Update {
        private transient ValueState<Long> count;

        @Override
        void open(Run run, int task, KeyedStateStore keyed) {
            count = keyed.getState(new ValueStateDescriptor<>("count", Long.class));
        }

        @Override
        void take(Event event, Out out) throws Exception {
            Long known = count.value();
            if (event.kind == Kind.BULK) {
                count.update(known == null ? 1 : known + 1);
                return;
            }
            row.madeBy(event).key = event.key;
            row.value = known == null ? 0 : known;
            count.update(0L);
            out.collect(row);
        }
    }

    /** Frauds: the model depends on all transactions and they on it, so one task has them all. */
    static final class Fraud extends Update {
        private final Transactions transactions = new Transactions();

        @Override
        void take(Event event, Out out) {
            if (event.kind == Kind.BULK) {
                transactions.take(event, out);
                return;
            }
            row.madeBy(event).kind = Kind.AGGREGATE;
            row.value = transactions.sum;
            out.collect(row);
            transactions.model = (transactions.sum + event.value) % Kind.MODULUS;
            transactions.sum = 0;
        }
    }
}
