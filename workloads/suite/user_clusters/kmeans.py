"""k-means (Lloyd's algorithm) in whole numbers, so that the answer is a function of the points.

Centroids have 8 fractional bits, cut down: the mean of coordinates x is floor(256 sum(x) / n).
The first centroids are the points at places 0, n/k, 2n/k, ... (cut down) of the n points given;
where there are fewer points than k, each is one. A point belongs to the nearest centroid, of
several to the first; a centroid without points stays where it is. The number of iterations is
fixed. Squared distances fit 64 bits while coordinates are below 2^22.
"""

from typing import Any

DIMENSIONS = 3
ONE = 256
"""A coordinate of 1 in units of centroids."""


def cluster(
    points: Any, count: int, k: int, iterations: int, centroids: Any, sizes: Any, sums: Any
) -> int:
    """Fill `centroids` and `sizes`, and return how many clusters there are.

    Args:
        points: coordinates, those of a point next to each other.
        count: number of points, at least 1.
        k: most clusters.
        iterations: at least 1.
        centroids: of k clusters, as points are; filled.
        sizes: of k clusters, by the last iteration; filled.
        sums: room for k points.
    """
    found = min(k, count)
    for c in range(found):
        for d in range(DIMENSIONS):
            centroids[c * DIMENSIONS + d] = points[c * count // found * DIMENSIONS + d] * ONE
    for _ in range(iterations):
        for c in range(found):
            sizes[c] = 0
            for d in range(DIMENSIONS):
                sums[c * DIMENSIONS + d] = 0
        for p in range(count):
            nearest, least = 0, -1
            for c in range(found):
                square = 0
                for d in range(DIMENSIONS):
                    away = points[p * DIMENSIONS + d] * ONE - centroids[c * DIMENSIONS + d]
                    square += away * away
                if least < 0 or square < least:
                    nearest, least = c, square
            sizes[nearest] += 1
            for d in range(DIMENSIONS):
                sums[nearest * DIMENSIONS + d] += points[p * DIMENSIONS + d]
        for c in range(found):
            if sizes[c] > 0:
                for d in range(DIMENSIONS):
                    at = c * DIMENSIONS + d
                    centroids[at] = sums[at] * ONE // sizes[c]
    return found
