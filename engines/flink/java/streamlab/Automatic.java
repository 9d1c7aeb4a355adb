package streamlab;

import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;

/** Implements the tasks of variant `automatic`, where Flink alone spreads the work. */
final class Automatic {
    private Automatic() {}

    /** Sums one task's share of the values between barriers, with numbers; a window adds the shares. */
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

    /** Joins views of a page with its metadata, which Flink stores for each page. */
    static final class PageView extends Update {
        private transient ValueState<Integer> metadata;

        @Override
        void open(Run run, int task, KeyedStateStore keyed) {
            metadata = keyed.getState(new ValueStateDescriptor<>("metadata", Integer.class));
        }

        @Override
        void take(Event event, Out out) throws Exception {
            Integer current = metadata.value();
            row.madeBy(event).kind = event.kind;
            row.key = event.key;
            row.other = current == null ? 0 : current;
            if (event.kind == Kind.BULK) {
                row.value = event.value;
            } else {
                row.value = Kind.NO_USER;
                metadata.update((int) event.value);
            }
            out.collect(row);
        }
    }

    /** Counts the events of each key; Flink stores the counters. */
    static final class Counter extends Update {
        private transient ValueState<Long> count;

        @Override
        void open(Run run, int task, KeyedStateStore keyed) {
            count = keyed.getState(new ValueStateDescriptor<>("count", Long.class));
        }

        @Override
        void take(Event event, Out out) throws Exception {
            Long current = count.value();
            if (event.kind == Kind.BULK) {
                count.update(current == null ? 1 : current + 1);
                return;
            }
            row.madeBy(event).key = event.key;
            row.value = current == null ? 0 : current;
            count.update(0L);
            out.collect(row);
        }
    }

    /** Forwards each tuple; every task makes its share of the copies (STRETCH, operator 15). */
    static final class Forward extends Update {
        private final int copies;
        private final int tasks;
        private transient int task;

        Forward(int copies, int tasks) {
            this.copies = copies;
            this.tasks = tasks;
        }

        @Override
        void open(Run run, int task, KeyedStateStore keyed) {
            this.task = task;
        }

        @Override
        void take(Event event, Out out) {
            for (int copy = task; copy < copies; copy += tasks) {
                row.madeBy(event).kind = task;
                row.other = event.key;
                row.value = event.value;
                out.collect(row);
            }
        }
    }

    /** Detects fraud in one task, since the model and all transactions depend on each other. */
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
