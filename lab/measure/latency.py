"""Computes percentiles of a latency histogram, and checks objectives of sustained rates such as `p99 <= 10ms`."""

import re
from dataclasses import dataclass

import numpy as np

from streamlab.engines.protocol import Histogram

PERCENTILES = ("p50", "p90", "p99", "p99.9", "max")
_NS_PER_UNIT = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_OBJECTIVE = re.compile(r"\s*(p50|p90|p99|p99\.9|max)\s*<=\s*(\d+(?:\.\d+)?)\s*(ns|us|ms|s)\s*")

EXPECTED = f"`<one of {', '.join(PERCENTILES)}> <= <number><ns|us|ms|s>`, e.g. `p99 <= 10ms`"
"""The expected form of an objective, for error messages."""


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

    pX needs at least 10 / (1 - X) samples (20, 100, 1,000 and 10,000), so that about ten lie above pX.
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
    if int(histogram.counts.sum()) * min(permille, 1000 - permille) < 10 * 1000:
        return None
    return nearest_rank(histogram, permille)


def nearest_rank(histogram: Histogram, permille: int) -> int | None:
    """Return the smallest value with at least `permille` thousandths of the samples at or below it.

    None without samples. With few samples the value is only a bound.
    """
    cumulative = np.cumsum(histogram.counts, dtype=np.int64)
    if len(cumulative) == 0 or cumulative[-1] == 0:
        return None
    rank = -(-int(cumulative[-1]) * permille // 1000)  # in exact integers
    return int(histogram.values_ns[np.searchsorted(cumulative, rank)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """An upper bound of one percentile."""

    percentile: str
    bound_ns: int

    def value_ns(self, percentiles: Percentiles) -> int | None:
        """Return the objective's percentile; None with too few samples."""
        value_ns: int | None = getattr(percentiles, f"{self.percentile.replace('.', '')}_ns")
        return value_ns

    def holds(self, percentiles: Percentiles) -> bool | None:
        """Return whether the percentile is within the bound; None with too few samples."""
        value_ns = self.value_ns(percentiles)
        return None if value_ns is None else value_ns <= self.bound_ns


def parse_objective(text: str) -> Objective:
    """Parse an objective.

    Raises:
        ValueError: `text` is not an objective; the message has the expected form.
    """
    match = _OBJECTIVE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a latency objective; expected {EXPECTED}")
    percentile, number, unit = match.groups()
    bound_ns = round(float(number) * _NS_PER_UNIT[unit])
    if bound_ns == 0:
        raise ValueError(f"{text!r} has a bound of 0; the bound must be at least 1ns")
    return Objective(percentile=percentile, bound_ns=bound_ns)
