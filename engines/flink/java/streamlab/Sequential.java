package streamlab;

/**
 * Implements the tasks of variant `sequential`: one task takes all events in order, with its state in
 * fields (DGS paper, appendices G.1.1, G.2.1 and G.3.1).
 */
final class Sequential {
    private Sequential() {}

    /** Sums the values between barriers. */
    static final class Window extends Update {
        private long sum;

        @Override
        void take(Event event, Out out) {
            if (event.kind == Kind.BULK) {
                sum += event.value;
                return;
            }
            row.madeBy(event).value = sum;
            sum = 0;
            out.collect(row);
        }
    }

    /** Joins views with the metadata of their pages. */
    static final class PageView extends Update {
        private final int[] metadata;

        PageView(int pages) {
            metadata = new int[pages];
        }

        @Override
        void take(Event event, Out out) {
            row.madeBy(event).kind = event.kind;
            row.key = event.key;
            row.other = metadata[event.key];
            if (event.kind == Kind.BULK) {
                row.value = event.value;
            } else {
                row.value = Kind.NO_USER;
                metadata[event.key] = (int) event.value;
            }
            out.collect(row);
        }
    }
}
