"""Reads separators into the driver, and splits the windows between them into buckets, which Spark joins by equality.

Spark has no fast range join, but a fast equality join with a broadcast table of longs. Each bulk event computes its
bucket by a shift, finds the windows that overlap the bucket, and keeps the window that contains it.
Buckets are about as wide as windows, so one or two windows overlap a bucket.
If many separators share an instant, many windows overlap its bucket, and the join is slow.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.protocol import IntArray
from streamlab.engines.spark.layout import SEPARATORS
from streamlab.engines.spark.query import scan
from streamlab.workloads.datasets.dataset import Dataset

MAX_ROWS = 4_000_000
"""Maximum rows of the table of buckets, which takes about 250 MB when broadcast."""
MAX_PER_BUCKET = 32
"""If more windows of one key overlap a bucket, `build` tries narrower buckets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Separators:
    """All separators in total order (event time, stream, position).

    Attributes:
        ts: int64[m], event times.
        src: int64[m], indices of streams.
        key: int64[m].
        value: int64[m], the requested field, or 0.
    """

    ts: IntArray
    src: IntArray
    key: IntArray
    value: IntArray

    def __len__(self) -> int:
        return len(self.ts)


def read(session: SparkSession, dataset: Dataset, src: int, *fields: str) -> DataFrame:
    """Return a stream as columns `ts`, `key` and some fields."""
    stream = dataset.streams[src]
    frame = scan(session, dataset, src)
    if any(name == "tag" for name, _ in stream.columns):
        key = F.expr(f"cast(tag div {len(dataset.alphabet.kinds)} as int)").alias("key")
    else:
        key = F.lit(0).alias("key")
    return frame.select("ts", key, *fields)


def collect(session: SparkSession, dataset: Dataset, field: str | None = None) -> Separators:
    """Load the separators of a dataset into the driver."""
    parts: list[list[npt.NDArray[Any]]] = []
    for src, stream in enumerate(dataset.streams):
        if stream.kinds != SEPARATORS:
            continue
        names = [field] if field else []
        table = read(session, dataset, src, "row_index", *names).toArrow()
        # A scan in several tasks loses the file's order, which separators need.
        order = np.argsort(table["row_index"].to_numpy())
        ts, key = table["ts"].to_numpy()[order], table["key"].to_numpy()[order]
        value = table[field].to_numpy()[order] if field else np.zeros(len(ts))
        parts.append([ts, np.full(len(ts), src), key, value])
    if not parts:
        parts.append([np.zeros(0)] * 4)
    ts, sources, key, value = (
        np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True)
    )
    order = np.lexsort((sources, ts))
    return Separators(ts=ts[order], src=sources[order], key=key[order], value=value[order])


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Closed intervals of event time with a key.

    Attributes:
        key: int64[w].
        first, last: int64[w], bounds of the window; it is empty if last < first.
        id, value: int64[w]; the join adds these to the events in the window.
    """

    key: IntArray
    first: IntArray
    last: IntArray
    id: IntArray
    value: IntArray


def between(
    separators: Separators, src: int, begin: int, end: int, value: IntArray
) -> tuple[Windows, Windows]:
    """Return, in event times of bulk stream `src`, the window that ends at each separator and the one that follows it.

    `begin` and `end` bound the stream's event times. `value`, int64[m], is the value after each separator.
    """
    order = np.argsort(separators.key, kind="stable")
    # For each separator, the last event time of the stream that precedes it in total order.
    key, upper = separators.key[order], (separators.ts - (separators.src < src))[order]
    has_previous = np.zeros(len(key), dtype=bool)
    has_previous[1:] = key[1:] == key[:-1]
    lower = np.where(has_previous, np.roll(upper, 1) + 1, begin)
    has_next = np.roll(has_previous, -1) if len(has_previous) else has_previous
    after = np.where(has_next, np.roll(upper, -1), end)
    zero = np.zeros(len(key), dtype=np.int64)
    return (
        _clip(Windows(key=key, first=lower, last=upper, id=order, value=zero), begin, end),
        _clip(
            Windows(key=key, first=upper + 1, last=after, id=order, value=value[order]), begin, end
        ),
    )


def _clip(windows: Windows, begin: int, end: int) -> Windows:
    """Limit windows to the times from `begin` to `end`; leave out windows that become empty."""
    first, last = np.maximum(windows.first, begin), np.minimum(windows.last, end)
    overlaps = first <= last
    return Windows(
        key=windows.key[overlaps],
        first=first[overlaps],
        last=last[overlaps],
        id=windows.id[overlaps],
        value=windows.value[overlaps],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """A broadcast table of windows by bucket.

    Attributes:
        table: the windows of each bucket.
        begin: event time at which the first bucket begins.
        shift: a bucket has 2^shift units of event time.
        keys: number of keys.
    """

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


def build(session: SparkSession, dataset: Dataset, windows: Windows, begin: int) -> Buckets:
    """Split windows into buckets, so that few windows of one key overlap a bucket.

    Raises:
        UnsupportedError: the table of buckets is too large to broadcast.
    """
    count = len(windows.key)
    span = int((windows.last - windows.first + 1).sum()) if count else 1
    # Round the mean window up to a power of two, so that an event finds its bucket by a shift instead of a division.
    shift = max(0, int(np.ceil(np.log2(max(1, span // max(1, count))))))
    while True:
        lowest, highest = (windows.first - begin) >> shift, (windows.last - begin) >> shift
        copies = highest - lowest + 1
        if int(copies.sum()) > MAX_ROWS:
            raise UnsupportedError(
                f"spark broadcasts a table of at most {MAX_ROWS:,} rows, and the {count:,} windows between "
                "separators need more; use fewer events, or variant native"
            )
        row = np.repeat(np.arange(count), copies)
        offset = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
        bucket = (lowest[row] + offset) * dataset.alphabet.keys + windows.key[row]
        max_per_bucket = int(np.unique(bucket, return_counts=True)[1].max(initial=0))
        # Buckets of half the width have at most twice the rows.
        if max_per_bucket <= MAX_PER_BUCKET or shift == 0 or 2 * int(copies.sum()) > MAX_ROWS:
            break
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
    return Buckets(table=table, begin=begin, shift=shift, keys=dataset.alphabet.keys)
