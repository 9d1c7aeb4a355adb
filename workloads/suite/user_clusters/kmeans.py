"""Computes k-means (Lloyd's algorithm) in whole numbers, so the answer depends only on the points.

Centroids have 8 fractional bits: the mean of coordinates x is floor(256 sum(x) / n). The first
centroids are the points at positions floor(i n / k) of n points; with fewer points than k, each
point is a centroid. A point belongs to the nearest centroid, and in a tie to the first. A centroid
without points does not move. The number of iterations is fixed. Squared distances fit 64 bits if
coordinates are below 2^22.
"""

from typing import Any

DIMENSIONS = 3
ONE = 256
"""A coordinate of 1 in units of centroids."""


def cluster(
    points: Any, count: int, k: int, iterations: int, centroids: Any, sizes: Any, sums: Any
) -> int:
    """Fill `centroids` and `sizes`, and return the number of clusters.

    Args:
        points: coordinates, `DIMENSIONS` for each point.
        count: number of points, at least 1.
        k: maximum number of clusters.
        iterations: number of iterations, at least 1.
        centroids: output, coordinates of k clusters.
        sizes: output, sizes of k clusters in the last iteration.
        sums: working space for k points.
    """
    clusters = min(k, count)
    for c in range(clusters):
        for d in range(DIMENSIONS):
            centroids[c * DIMENSIONS + d] = points[c * count // clusters * DIMENSIONS + d] * ONE
    for _ in range(iterations):
        for c in range(clusters):
            sizes[c] = 0
            for d in range(DIMENSIONS):
                sums[c * DIMENSIONS + d] = 0
        for p in range(count):
            nearest, smallest_square = 0, -1
            for c in range(clusters):
                square = 0
                for d in range(DIMENSIONS):
                    offset = points[p * DIMENSIONS + d] * ONE - centroids[c * DIMENSIONS + d]
                    square += offset * offset
                if smallest_square < 0 or square < smallest_square:
                    nearest, smallest_square = c, square
            sizes[nearest] += 1
            for d in range(DIMENSIONS):
                sums[nearest * DIMENSIONS + d] += points[p * DIMENSIONS + d]
        for c in range(clusters):
            if sizes[c] > 0:
                for d in range(DIMENSIONS):
                    index = c * DIMENSIONS + d
                    centroids[index] = sums[index] * ONE // sizes[c]
    return clusters
