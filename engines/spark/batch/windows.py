"""Windows between markers, cut into buckets of event time so that Spark can join them by equality.

A range join has no fast form in Spark, an equality join with a broadcast table of longs has: each
bulk event computes its bucket by a shift, finds the windows that touch the bucket, and keeps the
one whose bounds contain it. Buckets are about as wide as windows, so one or two windows touch a
bucket. Where markers crowd in time, a bucket holds many windows and the join would turn quadratic;
`build` then says so and the caller takes the sort-based form.
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
"""Upper bound of the table of buckets: about 250 MB once broadcast."""
MAX_PER_BUCKET = 32
"""Windows of one key that a bucket may touch before the join is worse than a sort."""

Int64 = npt.NDArray[np.int64]


class CrowdedError(Exception):
    """Markers crowd so much that no bucket width keeps the join linear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Closed intervals of event time, each with a key and two numbers that travel with it.

    Attributes:
        key: int64[w].
        first, last: int64[w], bounds, both included; empty where last < first.
        id, value: int64[w], what the join gives to the events inside.
    """

    key: Int64
    first: Int64
    last: Int64
    id: Int64
    value: Int64


def upper_bounds(markers: Markers, src: int) -> Int64:
    """Return for each marker the last event time of stream `src` that comes before it."""
    return markers.ts - (markers.src < src)


def between(
    markers: Markers, src: int, begin: int, end: int, value: Int64
) -> tuple[Windows, Windows]:
    """Return the windows before each marker and the windows after each, as stream `src` sees them.

    Args:
        markers: in total order.
        src: a bulk stream.
        begin: no event of the stream is earlier.
        end: no event of the stream is later.
        value: int64[m], what each marker brings into force after it.
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
    """A broadcast table of windows by bucket, and how an event computes its bucket."""

    table: DataFrame
    begin: int
    shift: int
    keys: int

    def join(self, bulk: DataFrame, how: str = "inner") -> DataFrame:
        """Join events (`ts`, `key`, ...) with the window they fall in (`window`, `carried`)."""
        bucket = f"shiftright(ts - {self.begin}L, {self.shift})"
        probe = f"{bucket} * {self.keys}L + key" if self.keys > 1 else bucket
        inside = F.expr("bucket = wanted and ts >= first and ts <= last")
        return bulk.withColumn("bucket", F.expr(probe)).join(F.broadcast(self.table), inside, how)


def build(session: SparkSession, plan: Layout, windows: Windows, begin: int) -> Buckets:
    """Cut windows into buckets.

    Raises:
        CrowdedError: no width keeps both the table and the windows per bucket small.
    """
    count = len(windows.key)
    span = int((windows.last - windows.first + 1).sum()) if count else 1
    # The mean window, rounded up to a power of two, so that the bucket is a shift and not a
    # division.
    shift = max(0, int(np.ceil(np.log2(max(1, span // max(1, count))))))
    while True:
        lowest, highest = (windows.first - begin) >> shift, (windows.last - begin) >> shift
        copies = highest - lowest + 1
        if int(copies.sum()) > MAX_ROWS:
            raise CrowdedError
        row = np.repeat(np.arange(count), copies)
        offset = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
        wanted = (lowest[row] + offset) * plan.keys + windows.key[row]
        crowd = int(np.unique(wanted, return_counts=True)[1].max(initial=0))
        if crowd <= MAX_PER_BUCKET:
            break
        if shift == 0:
            raise CrowdedError
        shift -= 1
    rows = {
        "wanted": wanted,
        "first": windows.first[row],
        "last": windows.last[row],
        "window": windows.id[row],
        "carried": windows.value[row],
    }
    table = session.createDataFrame(
        pa.table({name: pa.array(v, pa.int64()) for name, v in rows.items()})
    )
    return Buckets(table=table, begin=begin, shift=shift, keys=plan.keys)
