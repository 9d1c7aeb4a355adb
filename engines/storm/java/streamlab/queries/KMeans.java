package streamlab.queries;

import java.util.Arrays;
import java.util.List;

/**
 * K-means in integers, as workloads/suite/user_clusters/kmeans.py defines it: centroids have 8 fractional
 * bits, and the first ones are points at equal distances in the list.
 */
public final class KMeans {
    private static final int ONE = 256;

    private KMeans() {}

    /** A cluster's number of points, and its centroid in units of 1/256. */
    public record Found(long points, long[] meanQ8) {}

    /** Divides one or more points into at most k clusters. */
    public static Found[] cluster(List<Actions> users, int k, int iterations) {
        long[][] points = new long[users.size()][];
        for (int p = 0; p < points.length; p++) {
            Actions user = users.get(p);
            points[p] = new long[] {user.views(), user.clicks(), user.purchases()};
        }
        int clusters = Math.min(k, points.length);
        long[][] means = new long[clusters][];
        for (int c = 0; c < clusters; c++) {
            long[] point = points[(int) ((long) c * points.length / clusters)];
            means[c] = Arrays.stream(point).map(x -> x * ONE).toArray();
        }
        long[] sizes = new long[clusters];
        long[][] sums = new long[clusters][];
        for (int iteration = 0; iteration < iterations; iteration++) {
            Arrays.fill(sizes, 0);
            for (int c = 0; c < clusters; c++) {
                sums[c] = new long[means[c].length];
            }
            for (long[] point : points) {
                int nearest = nearest(point, means);
                sizes[nearest]++;
                for (int d = 0; d < point.length; d++) {
                    sums[nearest][d] += point[d];
                }
            }
            for (int c = 0; c < clusters; c++) {
                for (int d = 0; sizes[c] > 0 && d < means[c].length; d++) {
                    means[c][d] = sums[c][d] * ONE / sizes[c];
                }
            }
        }
        Found[] found = new Found[clusters];
        for (int c = 0; c < clusters; c++) {
            found[c] = new Found(sizes[c], means[c]);
        }
        return found;
    }

    private static int nearest(long[] point, long[][] means) {
        int nearest = 0;
        long leastDistance = Long.MAX_VALUE;
        for (int c = 0; c < means.length; c++) {
            long squaredDistance = 0;
            for (int d = 0; d < point.length; d++) {
                long offset = point[d] * ONE - means[c][d];
                squaredDistance += offset * offset;
            }
            if (squaredDistance < leastDistance) {
                nearest = c;
                leastDistance = squaredDistance;
            }
        }
        return nearest;
    }
}
