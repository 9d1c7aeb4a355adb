"""Computes percentiles of a latency histogram, if it has enough samples for them."""

from dataclasses import dataclass

import numpy as np

from streamlab.engines.protocol import Histogram


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Latency percentiles of a trial, in ns; None with too few samples."""

    count: int
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None
    p999_ns: int | None
    max_ns: int | None


def percentiles(histogram: Histogram) -> Percentiles:
    """Return the percentiles of a histogram.

    pX needs at least 10 / (1 - X) samples (20, 100, 1,000 and 10,000), so that about ten lie above it.
    A value is the upper end of its bucket, so it is too high by less than the bucket's width.
    """
    count = int(histogram.counts.sum())
    return Percentiles(
        count=count,
        p50_ns=percentile(histogram, 500),
        p90_ns=percentile(histogram, 900),
        p99_ns=percentile(histogram, 990),
        p999_ns=percentile(histogram, 999),
        max_ns=int(histogram.values_ns[-1]) if count else None,
    )


def percentile(histogram: Histogram, permille: int) -> int | None:
    """Return one percentile in ns; None if fewer than ten samples lie above it, or below it."""
    cumulative = np.cumsum(histogram.counts, dtype=np.int64)
    count = int(cumulative[-1]) if len(cumulative) else 0
    if count * min(permille, 1000 - permille) < 10_000:
        return None
    # The smallest rank with at least this share of the samples at or below it, in exact integers.
    rank = -(-count * permille // 1000)
    return int(histogram.values_ns[np.searchsorted(cumulative, rank)])
