"""Classifies the streams of an input into bulk events, and separators that divide the bulk events into runs.

In every DGS program here, kind 0 is bulk (values, views, transactions, increments) and kind 1 separates (barriers,
updates, rules, resets). This makes array operations possible. In a join the two kinds are the left and the right side.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.protocol import IntArray
from streamlab.workloads.model import Input, Params, Stream

BULK, SEPARATOR = (0,), (1,)

Side = tuple[tuple[int, Stream], ...]
"""Streams of one kind, with their indices."""

Part = dict[str, npt.NDArray[Any]]
"""Outputs in order, as columns; `src` is the stream of the event that made the output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Separators:
    """All separators in total order (event time, then stream).

    Attributes:
        ts: int64[m], event times.
        src: int16[m], indices of streams.
        key: int64[m].
        value: int64[m], the requested field, or 0.
    """

    ts: IntArray
    src: npt.NDArray[np.int16]
    key: IntArray
    value: IntArray

    def __len__(self) -> int:
        return len(self.ts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """The streams of an input by kind, each with its index, which breaks ties in event time.

    Attributes:
        bulk: streams of kind 0.
        separators: streams of kind 1.
        kinds: number of kinds; a tag is key x `kinds` + kind.
        keys: number of keys.
        params: the workload's query parameters.
    """

    bulk: Side
    separators: Side
    kinds: int
    keys: int
    params: Params

    @classmethod
    def from_input(cls, data: Input, params: Params) -> "Streams":
        """Classify the streams of an input; each must have one kind."""
        streams = tuple(enumerate(data.streams))
        return cls(
            bulk=tuple((src, stream) for src, stream in streams if stream.kinds == BULK),
            separators=tuple((src, stream) for src, stream in streams if stream.kinds == SEPARATOR),
            kinds=len(data.alphabet.kinds),
            keys=data.alphabet.keys,
            params=params,
        )

    def keys_of(self, stream: Stream) -> npt.NDArray[np.int32]:
        """Return the key of each event of a stream."""
        if stream.tag is None:
            return np.zeros(len(stream), np.int32)
        return stream.tag // np.int32(self.kinds)

    def ordered_separators(self, field: str | None = None) -> Separators:
        """Return all separators, with one of their fields as `value`."""
        parts = [
            (
                stream.ts,
                np.full(len(stream), src, np.int16),
                self.keys_of(stream),
                column(stream, field) if field else np.zeros(len(stream), np.int64),
            )
            for src, stream in self.separators
        ]
        parts.append((np.empty(0, np.int64),) * 4)  # type: ignore[arg-type]  # Without rows, any type will do.
        ts, src, key, value = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((src, ts))
        return Separators(
            ts=ts[order],
            src=src[order].astype(np.int16),
            key=key[order].astype(np.int64),
            value=value[order].astype(np.int64),
        )


def column(stream: Stream, name: str) -> npt.NDArray[Any]:
    """Return a payload column, which must not be a list column."""
    values = stream.payload[name]
    assert isinstance(values, np.ndarray)
    return values


def ends(separators: Separators, src: int, stream: Stream) -> IntArray:
    """Return how many events of stream `src` come before each separator."""
    last = separators.ts - (separators.src < src)
    return np.searchsorted(stream.ts, last, side="right").astype(np.int64)


def run_sums(values: npt.NDArray[Any], end: IntArray) -> IntArray:
    """Return the sums of consecutive runs of values; run i ends before index `end[i]`."""
    begin = np.concatenate([np.zeros(min(1, len(end)), np.int64), end[:-1]])
    nonempty = begin < end
    sums = np.zeros(len(end), np.int64)
    if nonempty.any():
        sums[nonempty] = np.add.reduceat(values[: end[-1]], begin[nonempty])
    return sums
