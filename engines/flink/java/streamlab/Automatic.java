package streamlab;

import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;

/** What tasks do with events where Flink alone spreads the work. */
final class Automatic {
    private Automatic() {}

    /** Sums between barriers of one share of the values, numbered; they are added up behind. */
    static final class PartialSums implements Update {
        private transient Answer row;
        private long sum;
        private int window;

        @Override
        public void open(Run run, int task, KeyedStateStore keyed) {
            row = new Answer();
        }

        @Override
        public void take(Event event, Out out) {
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
    static final class PageView implements Update {
        private transient ValueState<Integer> metadata;
        private transient Answer row;

        @Override
        public void open(Run run, int task, KeyedStateStore keyed) {
            metadata = keyed.getState(new ValueStateDescriptor<>("metadata", Integer.class));
            row = new Answer();
        }

        @Override
        public void take(Event event, Out out) throws Exception {
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
    static final class Counter implements Update {
        private transient ValueState<Long> count;
        private transient Answer row;

        @Override
        public void open(Run run, int task, KeyedStateStore keyed) {
            count = keyed.getState(new ValueStateDescriptor<>("count", Long.class));
            row = new Answer();
        }

        @Override
        public void take(Event event, Out out) throws Exception {
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
    static final class Fraud implements Update {
        private transient Answer row;
        private long sum;
        private long model;

        @Override
        public void open(Run run, int task, KeyedStateStore keyed) {
            row = new Answer();
        }

        @Override
        public void take(Event event, Out out) {
            if (event.kind == Kind.BULK) {
                if (event.value % Kind.MODULUS == model) {
                    row.madeBy(event).kind = Kind.FRAUD;
                    row.value = event.value;
                    out.collect(row);
                }
                sum += event.value;
                return;
            }
            row.madeBy(event).kind = Kind.AGGREGATE;
            row.value = sum;
            out.collect(row);
            model = (sum + event.value) % Kind.MODULUS;
            sum = 0;
        }
    }
}
