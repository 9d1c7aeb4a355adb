package streamlab;

import org.apache.flink.api.common.state.KeyedStateStore;

/**
 * Synchronization plans as in the DGS paper, section 4.3: leaves take bulk events, roots take the
 * synchronizing ones, and both meet in a service that Flink knows nothing of.
 *
 * <p>A leaf gets every synchronizing event too, which tells it when to join.
 */
final class Manual {
    private Manual() {}

    /** What leaves and roots have alike. */
    private abstract static class Meeting extends Update {
        transient ForkJoin service;
        int task;

        @Override
        void open(Run run, int task, KeyedStateStore keyed) {
            service = run.service;
            this.task = task;
        }
    }

    /** A sum of values. */
    static final class WindowLeaf extends Meeting {
        private long sum;

        @Override
        void take(Event event, Out out) throws Exception {
            if (event.kind == Kind.BULK) {
                sum += event.value;
            } else {
                service.join(0, task, sum);
                sum = 0;
            }
        }
    }

    static final class WindowRoot extends Meeting {
        @Override
        void take(Event event, Out out) throws Exception {
            row.madeBy(event).value = total(service.gather(0));
            service.fork(0, 0);
            out.collect(row);
        }
    }

    /** A sum of transactions, and the model against which they are checked. */
    static final class FraudLeaf extends Meeting {
        private final Transactions transactions = new Transactions();

        @Override
        void take(Event event, Out out) throws Exception {
            if (event.kind == Kind.BULK) {
                transactions.take(event, out);
            } else {
                transactions.model = service.join(0, task, transactions.sum);
                transactions.sum = 0;
            }
        }
    }

    static final class FraudRoot extends Meeting {
        @Override
        void take(Event event, Out out) throws Exception {
            long sum = total(service.gather(0));
            service.fork(0, (sum + event.value) % Kind.MODULUS);
            row.madeBy(event).kind = Kind.AGGREGATE;
            row.value = sum;
            out.collect(row);
        }
    }

    /** The metadata of all pages; there is a tree for each page, and this is a leaf of all. */
    static final class PageLeaf extends Meeting {
        private final long[] metadata;

        PageLeaf(int pages) {
            metadata = new long[pages];
        }

        @Override
        void take(Event event, Out out) throws Exception {
            if (event.kind == Kind.BULK) {
                row.madeBy(event).kind = event.kind;
                row.key = event.key;
                row.value = event.value;
                row.other = metadata[event.key];
                out.collect(row);
            } else {
                metadata[event.key] = service.join(event.key, task, metadata[event.key]);
            }
        }
    }

    /** The root of the trees of a share of the pages. */
    static final class PageRoot extends Meeting {
        @Override
        void take(Event event, Out out) throws Exception {
            long known = service.gather(event.key)[0]; // all leaves have the same
            service.fork(event.key, event.value);
            row.madeBy(event).kind = event.kind;
            row.key = event.key;
            row.value = Kind.NO_USER;
            row.other = known;
            out.collect(row);
        }
    }

    private static long total(long[] sums) {
        long total = 0;
        for (long sum : sums) {
            total += sum;
        }
        return total;
    }
}
