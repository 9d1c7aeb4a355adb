package streamlab;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.List;
import org.apache.storm.tuple.AddressedTuple;

/**
 * A channel for several sources and one reader. Each source adds its tuples in order; the reader gets all
 * tuples by (order, source). It is a lock-free skip list with one node per tuple (Viper, section 3.3). A
 * tuple is ready once each source has added a later one.
 *
 * <p>Flow control: a source marks one node in every quarter of its capacity. The reader that passes it
 * acknowledges the source's nodes up to this one. A source with as many unacknowledged nodes as its
 * capacity waits, but only while the reader has a ready tuple. No source therefore waits for another: some
 * reader always has work, down to the sinks, which wait for nothing.
 */
public final class ScaleGate {
    private static final int LEVELS = 10;
    private static final VarHandle NEXT = MethodHandles.arrayElementVarHandle(Node[].class);
    private static final VarHandle LAST;
    private static final VarHandle HEAD;
    private static final VarHandle ACKNOWLEDGED;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            LAST = lookup.findVarHandle(Node.class, "last", boolean.class);
            HEAD = lookup.findVarHandle(ScaleGate.class, "head", Node.class);
            ACKNOWLEDGED = lookup.findVarHandle(Source.class, "acknowledged", long.class);
        } catch (ReflectiveOperationException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    private static final class Node {
        final long order;
        final int source;
        /** The tuple's number at its source if the reader acknowledges it, else 0. */
        final long mark;
        final Node[] next;
        /** Written by the source before the node is linked, then by the reader. */
        AddressedTuple tuple;
        /** Whether its source has not added a later one; written by the source, read by the reader. */
        boolean last = true;

        Node(long order, int source, AddressedTuple tuple, long mark, int levels) {
            this.order = order;
            this.source = source;
            this.tuple = tuple;
            this.mark = mark;
            next = new Node[levels];
        }

        /** Returns the next node; the acquire pairs with the compare-and-set in `link`. */
        Node next(int level) {
            return (Node) NEXT.getAcquire(next, level);
        }

        /** Returns whether a new node of this order and source belongs after this one. */
        boolean isBefore(long newOrder, int newSource) {
            return order < newOrder || order == newOrder && source <= newSource;
        }
    }

    /** The state that a source's own thread needs to add tuples. */
    private static final class Source {
        final int task;
        /** For each level, a node before the source's next one, where its search begins. */
        final Node[] before = new Node[LEVELS];
        Node last;
        long added;
        long random;
        /** Written by the reader, read by the source. */
        long acknowledged;

        Source(int task) {
            this.task = task;
            random = task * 0x9E3779B97F4A7C15L + 1;
        }

        int randomLevels() {
            random ^= random << 13;
            random ^= random >>> 7;
            random ^= random << 17;
            return Math.min(LEVELS, 1 + Long.numberOfTrailingZeros(random));
        }
    }

    private final Source[] sources;
    private final int firstTask;
    /** For each task from the first, the number of its source; -1 if it is none. */
    private final int[] numbers;
    private final long capacity;
    private final long marked;
    /** The last node that the reader has passed; written by the reader, read by sources. */
    private Node head;

    /** Creates a channel; the capacity is the number of tuples of one source. */
    public ScaleGate(List<Integer> tasks, long capacity) {
        this.capacity = capacity;
        marked = Math.max(1, capacity / 4);
        sources = new Source[tasks.size()];
        firstTask = tasks.get(0);
        numbers = new int[tasks.get(tasks.size() - 1) - firstTask + 1];
        Arrays.fill(numbers, -1);
        head = new Node(Long.MIN_VALUE, -1, null, 0, LEVELS);
        Node end = head;
        for (int number = 0; number < sources.length; number++) {
            Source source = sources[number] = new Source(tasks.get(number));
            numbers[source.task - firstTask] = number;
            Arrays.fill(source.before, head);
            source.last = new Node(Long.MIN_VALUE, number, null, 0, 1);
            end.next[0] = source.last;
            end = source.last;
        }
    }

    /** Returns the number of a tuple's source; -1 if a tuple has none, such as Storm's own ticks. */
    public int sourceOf(AddressedTuple tuple) {
        int index = tuple.getTuple().getSourceTask() - firstTask;
        return index < 0 || index >= numbers.length ? -1 : numbers[index];
    }

    /** Adds a tuple of a source, by its own thread; returns false if the source has to wait. */
    public boolean add(int number, AddressedTuple tuple) {
        Source source = sources[number];
        if (source.added - (long) ACKNOWLEDGED.getAcquire(source) >= capacity && hasReady()) {
            return false;
        }
        long order = ((Event) tuple.getTuple().getValue(0)).order();
        long mark = ++source.added % marked == 0 ? source.added : 0;
        Node node = new Node(order, number, tuple, mark, source.randomLevels());
        search(source, node);
        for (int level = 0; level < node.next.length; level++) {
            link(source, node, level);
        }
        Node previous = source.last;
        source.last = node;
        LAST.setRelease(previous, false); // The reader that sees it also sees the new node.
        return true;
    }

    private void search(Source source, Node node) {
        Node previous = source.before[LEVELS - 1];
        for (int level = LEVELS - 1; level >= 0; level--) {
            Node hint = source.before[level];
            if (!hint.isBefore(previous.order, previous.source)) {
                previous = hint;
            }
            for (Node next = previous.next(level);
                    next != null && next.isBefore(node.order, node.source);
                    next = previous.next(level)) {
                previous = next;
            }
            source.before[level] = previous;
        }
    }

    private void link(Source source, Node node, int level) {
        Node previous = source.before[level];
        while (true) {
            Node next = previous.next(level);
            if (next != null && next.isBefore(node.order, node.source)) {
                previous = next;
                continue;
            }
            NEXT.setRelease(node.next, level, next);
            if (NEXT.compareAndSet(previous.next, level, next, node)) {
                source.before[level] = node;
                return;
            }
        }
    }

    private boolean hasReady() {
        return ready(((Node) HEAD.getAcquire(this)).next(0));
    }

    private static boolean ready(Node node) {
        return node != null && !(boolean) LAST.getAcquire(node);
    }

    /** Returns the next ready tuple, or null. */
    public AddressedTuple next() {
        for (Node node = head.next(0); ready(node); node = head.next(0)) {
            HEAD.setRelease(this, node);
            if (node.mark != 0) {
                ACKNOWLEDGED.setRelease(sources[node.source], node.mark);
            }
            AddressedTuple tuple = node.tuple;
            node.tuple = null; // A source far behind keeps the nodes reachable.
            if (tuple != null) {
                return tuple;
            }
        }
        return null;
    }
}
