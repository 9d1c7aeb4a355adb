"""Sorts markers into total order and splits streams at them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.dataframe.streams import Streams
from streamlab.workloads.model import Stream

IntArray = npt.NDArray[np.int64]
Part = dict[str, npt.NDArray[Any]]
"""Outputs in order, as columns; `src` is the stream of the event that made each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Markers:
    """All markers in total order (event time, then stream).

    Attributes:
        ts, key, value: int64[m]; `value` is the requested field, or 0.
        src: int16[m].
    """

    ts: IntArray
    src: npt.NDArray[np.int16]
    key: IntArray
    value: IntArray

    def __len__(self) -> int:
        return len(self.ts)


def keys(streams: Streams, stream: Stream) -> npt.NDArray[np.int32]:
    """Return the key of each event of a stream."""
    if stream.tag is None:
        return np.zeros(len(stream), np.int32)
    return stream.tag // np.int32(streams.kinds)


def column(stream: Stream, name: str) -> npt.NDArray[Any]:
    """Return a payload column, which must not be a list column."""
    values = stream.payload[name]
    assert isinstance(values, np.ndarray)
    return values


def markers(streams: Streams, field: str | None = None) -> Markers:
    """Return all markers, with one of their fields as `value`."""
    parts = [
        (
            stream.ts,
            np.full(len(stream), src, np.int16),
            keys(streams, stream),
            column(stream, field) if field else np.zeros(len(stream), np.int64),
        )
        for src, stream in streams.markers
    ]
    parts.append((np.empty(0, np.int64),) * 4)  # type: ignore[arg-type]  # no rows, so any type
    ts, src, key, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((src, ts))
    return Markers(
        ts=ts[order],
        src=src[order].astype(np.int16),
        key=key[order].astype(np.int64),
        value=value[order].astype(np.int64),
    )


def ends(marks: Markers, src: int, stream: Stream) -> IntArray:
    """Return how many events of a stream come before each marker."""
    last = marks.ts - (marks.src < src)
    return np.searchsorted(stream.ts, last, side="right").astype(np.int64)


def run_sums(values: npt.NDArray[Any], end: IntArray) -> IntArray:
    """Return the sum of the values of each run that ends before `end[i]`."""
    begin = np.concatenate([np.zeros(min(1, len(end)), np.int64), end[:-1]])
    filled = begin < end
    sums = np.zeros(len(end), np.int64)
    if filled.any():
        sums[filled] = np.add.reduceat(values[: end[-1]], begin[filled])
    return sums
