package streamlab;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.function.IntFunction;

/** A stream of the input as columns in memory, shared by all tasks of a process. */
final class Stream {
    /** Elements read at a time. */
    private static final int PART = 1 << 20;

    /** The kind of all events if the stream has no tags. */
    final int firstKind;
    /** Number of kinds in the alphabet: a tag is kind + alphabet x key. */
    final int alphabet;
    final long[] ts;
    /** Null if all events have the first kind and key 0. */
    final int[] tag;
    /** Null without a payload. */
    final long[] value;
    /** The list of row i is [listEnd[i - 1], listEnd[i]) of `list`. */
    final int[] listEnd;
    final int[] list;
    /** The columns of a query's table: long[], double[], or int[] for Booleans. */
    final Object[] columns;
    /** Due times of an offered load's events and heartbeats, in ns after the start, or null. */
    final long[] dueNs;
    final long[] beatTs;
    final long[] beatDueNs;

    Stream(Path folder, int index, int alphabet, String kindsOf, List<Job.Column> table)
            throws IOException {
        this.alphabet = alphabet;
        firstKind = Integer.parseInt(kindsOf.split(",")[0]);
        ts = longs(folder, index, "ts");
        tag = ints(folder, index, "tag");
        value = longs(folder, index, "value");
        listEnd = ints(folder, index, "list_end");
        list = ints(folder, index, "list");
        columns = new Object[table.size()];
        for (int at = 0; at < columns.length; at++) {
            String name = "column." + at;
            columns[at] =
                    switch (table.get(at).type()) {
                        case "double" -> doubles(folder, index, name);
                        case "boolean" -> ints(folder, index, name);
                        default -> longs(folder, index, name);
                    };
        }
        dueNs = longs(folder, index, "due_ns");
        beatTs = longs(folder, index, "beat_ts");
        beatDueNs = longs(folder, index, "beat_due_ns");
    }

    int kind(int row) {
        return tag == null ? firstKind : tag[row] % alphabet;
    }

    int key(int row) {
        return tag == null ? 0 : tag[row] / alphabet;
    }

    private static long[] longs(Path folder, int index, String name) throws IOException {
        Path path = folder.resolve(index + "." + name);
        return read(path, Long.BYTES, long[]::new, (p, to, at, n) -> p.asLongBuffer().get(to, at, n));
    }

    private static double[] doubles(Path folder, int index, String name) throws IOException {
        Path path = folder.resolve(index + "." + name);
        return read(
                path, Double.BYTES, double[]::new, (p, to, at, n) -> p.asDoubleBuffer().get(to, at, n));
    }

    private static int[] ints(Path folder, int index, String name) throws IOException {
        Path path = folder.resolve(index + "." + name);
        return read(path, Integer.BYTES, int[]::new, (p, to, at, n) -> p.asIntBuffer().get(to, at, n));
    }

    /** Copies a part of a file to elements [at, at + count) of an array. */
    private interface Copy<T> {
        void part(ByteBuffer part, T to, int at, int count);
    }

    /** Returns the content of a file; null if it does not exist. */
    private static <T> T read(Path path, int width, IntFunction<T> array, Copy<T> copy)
            throws IOException {
        if (!Files.exists(path)) {
            return null;
        }
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ)) {
            int length = Math.toIntExact(file.size() / width);
            T values = array.apply(length);
            for (int at = 0; at < length; at += PART) {
                int count = Math.min(PART, length - at);
                long begin = (long) at * width;
                ByteBuffer part =
                        file.map(FileChannel.MapMode.READ_ONLY, begin, (long) count * width);
                copy.part(part.order(ByteOrder.LITTLE_ENDIAN), values, at, count);
            }
            return values;
        }
    }
}
