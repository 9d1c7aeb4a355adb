package streamlab;

import org.apache.flink.api.common.state.KeyedStateStore;

/**
 * Implements the tasks of variant `manual`: synchronization plans as in the DGS paper, section 4.3.
 * Leaves process bulk events and roots synchronizing events; both meet in a service outside Flink.
 *
 * <p>A leaf also receives every synchronizing event, to know when to join.
 */
final class Manual {
    private Manual() {}

    /** The common base of leaves and roots. */
    private abstract static class Node extends Update {
        transient ForkJoin service;
        int task;

        @Override
        void open(Run run, int task, KeyedStateStore keyed) {
            service = run.service;
            this.task = task;
        }
    }

    /** Sums values. */
    static final class WindowLeaf extends Node {
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

    static final class WindowRoot extends Node {
        @Override
        void take(Event event, Out out) throws Exception {
            row.madeBy(event).value = total(service.gather(0));
            service.fork(0, 0);
            out.collect(row);
        }
    }

    /** Sums transactions, and checks them against the model. */
    static final class FraudLeaf extends Node {
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

    static final class FraudRoot extends Node {
        @Override
        void take(Event event, Out out) throws Exception {
            long sum = total(service.gather(0));
            service.fork(0, (sum + event.value) % Kind.MODULUS);
            row.madeBy(event).kind = Kind.AGGREGATE;
            row.value = sum;
            out.collect(row);
        }
    }

    /** Stores the metadata of all pages; it is a leaf of every page's tree. */
    static final class PageLeaf extends Node {
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

    /** The root of the trees of some pages. */
    static final class PageRoot extends Node {
        @Override
        void take(Event event, Out out) throws Exception {
            long replaced = service.gather(event.key)[0]; // All leaves have the same.
            service.fork(event.key, event.value);
            row.madeBy(event).kind = event.kind;
            row.key = event.key;
            row.value = Kind.NO_USER;
            row.other = replaced;
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
