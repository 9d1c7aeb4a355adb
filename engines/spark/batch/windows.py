"""Splits the windows between markers into buckets of event time, so that Spark can join them by equality.

Spark has no fast range join, but a fast equality join with a broadcast table of longs. Each bulk event computes its
bucket by a shift, finds the windows that overlap the bucket, and keeps the one whose bounds contain it.
Buckets are about as wide as windows, so one or two windows overlap a bucket.
If markers are dense in time, a bucket has many windows and the join would be quadratic: `build` then raises
CrowdedError, and the caller uses the sort-based form.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.batch.markers import Markers
from streamlab.engines.spark.layout import Layout

MAX_ROWS = 4_000_000
"""Upper bound of the table of buckets: about 250 MB when broadcast."""
MAX_PER_BUCKET = 32
"""Windows of one key that may overlap a bucket before a sort is faster than the join."""

Int64 = npt.NDArray[np.int64]


class CrowdedError(Exception):
    """Markers are so dense in time that no bucket width keeps the join linear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Closed intervals of event time, each with a key and two payload numbers.

    Attributes:
        key: int64[w].
        first, last: int64[w], bounds, both included; empty where last < first.
        id, value: int64[w], the columns that the join adds to the events in the window.
    """

    key: Int64
    first: Int64
    last: Int64
    id: Int64
    value: Int64


def upper_bounds(markers: Markers, src: int) -> Int64:
    """Return for each marker the last event time of stream `src` that precedes it in total order."""
    return markers.ts - (markers.src < src)


def between(
    markers: Markers, src: int, begin: int, end: int, value: Int64
) -> tuple[Windows, Windows]:
    """Return the window before each marker and the window after each, in the event times of stream `src`.

    Args:
        markers: in total order.
        src: a bulk stream.
        begin: lower bound of the stream's event times.
        end: upper bound of the stream's event times.
        value: int64[m], the value that holds after each marker.
    """
    order = np.argsort(markers.key, kind="stable")
    key, upper = markers.key[order], upper_bounds(markers, src)[order]
    same = np.zeros(len(key), dtype=bool)
    same[1:] = key[1:] == key[:-1]
    lower = np.where(same, np.roll(upper, 1) + 1, begin)
    next_same = np.roll(same, -1) if len(same) else same
    after = np.where(next_same, np.roll(upper, -1), end)
    zero = np.zeros(len(key), dtype=np.int64)
    return (
        _clip(Windows(key=key, first=lower, last=upper, id=order, value=zero), begin, end),
        _clip(
            Windows(key=key, first=upper + 1, last=after, id=order, value=value[order]), begin, end
        ),
    )


def _clip(windows: Windows, begin: int, end: int) -> Windows:
    first, last = np.maximum(windows.first, begin), np.minimum(windows.last, end)
    keep = first <= last
    return Windows(
        key=windows.key[keep],
        first=first[keep],
        last=last[keep],
        id=windows.id[keep],
        value=windows.value[keep],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """A broadcast table of windows by bucket, with the parameters by which an event computes its bucket."""

    table: DataFrame
    begin: int
    shift: int
    keys: int

    def join(self, bulk: DataFrame, how: str = "inner") -> DataFrame:
        """Join events (`ts`, `key`, ...) with their window (`window`, `carried`)."""
        bucket = f"shiftright(ts - {self.begin}L, {self.shift})"
        probe = f"{bucket} * {self.keys}L + key" if self.keys > 1 else bucket
        match = F.expr("bucket = window_bucket and ts >= first and ts <= last")
        return bulk.withColumn("bucket", F.expr(probe)).join(F.broadcast(self.table), match, how)


def build(session: SparkSession, plan: Layout, windows: Windows, begin: int) -> Buckets:
    """Split windows into buckets.

    Raises:
        CrowdedError: no bucket width keeps both the table and the number of windows per bucket small.
    """
    count = len(windows.key)
    span = int((windows.last - windows.first + 1).sum()) if count else 1
    # The mean window, rounded up to a power of two, so that the bucket is a shift instead of a division.
    shift = max(0, int(np.ceil(np.log2(max(1, span // max(1, count))))))
    while True:
        lowest, highest = (windows.first - begin) >> shift, (windows.last - begin) >> shift
        copies = highest - lowest + 1
        if int(copies.sum()) > MAX_ROWS:
            raise CrowdedError
        row = np.repeat(np.arange(count), copies)
        offset = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
        bucket = (lowest[row] + offset) * plan.keys + windows.key[row]
        most = int(np.unique(bucket, return_counts=True)[1].max(initial=0))
        if most <= MAX_PER_BUCKET:
            break
        if shift == 0:
            raise CrowdedError
        shift -= 1
    rows = {
        "window_bucket": bucket,
        "first": windows.first[row],
        "last": windows.last[row],
        "window": windows.id[row],
        "carried": windows.value[row],
    }
    table = session.createDataFrame(
        pa.table({name: pa.array(v, pa.int64()) for name, v in rows.items()})
    )
    return Buckets(table=table, begin=begin, shift=shift, keys=plan.keys)
