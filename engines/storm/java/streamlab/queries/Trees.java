package streamlab.queries;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import streamlab.Job;

/** The regression trees of workloads/suite/smart_home_prediction/tree.py, one for each type of device. */
public final class Trees {
    private static final int SECONDS_PER_DAY = 86_400;
    private static final int LOAD = 1;
    private static final int MINUTE = 2;
    private static final int LEAF = -1;

    private record Node(int feature, long threshold, int left, int right, long next10MinJ) {}

    private final Node[] nodes;
    /** The root of each type of device with a tree; the first node is the root for all others. */
    private final Map<Long, Integer> roots = new HashMap<>();
    private final int depth;

    public Trees(Job job) {
        depth = job.number("query.depth");
        try {
            List<String> lines = Files.readAllLines(job.folder.resolve("tree.csv"));
            nodes = new Node[lines.size() - 1]; // The first line has the names of the columns.
            for (int node = 0; node < nodes.length; node++) {
                String[] cells = lines.get(node + 1).split(",");
                roots.putIfAbsent(Long.parseLong(cells[0]), node);
                nodes[node] =
                        new Node(
                                Integer.parseInt(cells[1]),
                                Long.parseLong(cells[2]),
                                Integer.parseInt(cells[3]),
                                Integer.parseInt(cells[4]),
                                Long.parseLong(cells[5]));
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Returns the consumption of a type of device in the ten minutes after a second, in joules. */
    public long predict(long device, long second, long loadMw, long minuteMj) {
        Node node = nodes[device < 0 ? 0 : roots.getOrDefault(device, 0)];
        for (int level = 0; level < depth && node.feature != LEAF; level++) {
            long value =
                    switch (node.feature) {
                        case LOAD -> loadMw;
                        case MINUTE -> minuteMj;
                        default -> Math.floorMod(second, SECONDS_PER_DAY);
                    };
            node = nodes[value <= node.threshold ? node.left : node.right];
        }
        return node.next10MinJ;
    }
}
