"""Defines streams as timestamp-sorted columns in memory.

The total order of all events of an input is (timestamp, stream index, position in the stream). Ties
in event time are broken by the order in which the workload declares its streams, then by arrival.
Every engine must keep that order between dependent events.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.model.streams.lists import ListColumn
from streamlab.workloads.model.streams.tag import Alphabet

Columns = dict[str, npt.NDArray[np.generic]]
"""Named columns of equal length, for records in bulk (inputs, outputs, oracle answers)."""

Block = Mapping[str, npt.NDArray[np.generic] | ListColumn]
"""Rows of a stream: named columns of equal length, of single values or of lists."""

IntArray = npt.NDArray[np.int64]
TagArray = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Holds one physical stream.

    Attributes:
        name: Unique within the input, e.g. `value-0`.
        kinds: The kinds (indices into the alphabet) that may occur in it, ascending.
        ts: int64[n], event time, non-decreasing.
        tag: int32[n], or None if every event has kind `kinds[0]` and key 0.
        payload: Further columns of length n, with one value or one list per event.
        heartbeats: int64[h], ascending; each promises that all later events have a higher timestamp.

    Raises:
        ModelError: Columns differ in length, timestamps are out of order, or a column has a wrong type.
    """

    name: str
    kinds: tuple[int, ...]
    ts: IntArray
    tag: TagArray | None = None
    payload: Mapping[str, npt.NDArray[np.generic] | ListColumn] = field(default_factory=dict)
    heartbeats: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if self.ts.dtype != np.int64 or (self.tag is not None and self.tag.dtype != np.int32):
            tag = None if self.tag is None else self.tag.dtype
            raise ModelError(
                f"stream {self.name}: ts is {self.ts.dtype} and tag is {tag}; "
                "they must be int64 and int32"
            )
        for column, values in {"tag": self.tag, **self.payload}.items():
            if values is not None and len(values) != len(self.ts):
                raise ModelError(
                    f"stream {self.name}: column {column} has {len(values)} rows, "
                    f"ts has {len(self.ts)}"
                )
        if self.tag is None and len(self.kinds) != 1:
            raise ModelError(
                f"stream {self.name} has kinds {self.kinds} but no tag column; only streams of one "
                "kind may omit it"
            )
        if len(self.ts) > 1:
            out_of_order = np.flatnonzero(self.ts[1:] < self.ts[:-1])
            if len(out_of_order):
                raise ModelError(
                    f"stream {self.name} is not sorted by timestamp: row {out_of_order[0] + 1} has "
                    f"{self.ts[out_of_order[0] + 1]} after {self.ts[out_of_order[0]]}"
                )

    def __len__(self) -> int:
        return len(self.ts)


def since(stream: Stream, begin: int) -> Stream:
    """Return the events of a stream from an event time on, without heartbeats."""
    return take(stream, np.arange(int(np.searchsorted(stream.ts, begin)), len(stream)))


def until(stream: Stream, end: int) -> Stream:
    """Return the events of a stream before an event time, without heartbeats."""
    return take(stream, np.arange(int(np.searchsorted(stream.ts, end))))


def take(stream: Stream, rows: IntArray) -> Stream:
    """Return the events of a stream at ascending rows, without heartbeats."""
    return Stream(
        name=stream.name,
        kinds=stream.kinds,
        ts=stream.ts[rows],
        tag=None if stream.tag is None else stream.tag[rows],
        payload={
            name: column.take(rows) if isinstance(column, ListColumn) else column[rows]
            for name, column in stream.payload.items()
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """Holds all streams of an input and their alphabet. Stream order breaks ties.

    Attributes:
        until_ts: Time at which the input is cut: it has all events before this time, so its final watermark
            is the instant before. None: the final watermark is the time of the last event. An input that a
            query flushes is cut after the query's last window (`flush_end`).

    Raises:
        ModelError: A tag is outside the alphabet, or its kind is not one of its stream's.
    """

    alphabet: Alphabet
    streams: tuple[Stream, ...]
    until_ts: int | None = None

    def __post_init__(self) -> None:
        n = len(self.alphabet.kinds)
        for stream in self.streams:
            if not all(0 <= kind < n for kind in stream.kinds):
                raise ModelError(
                    f"stream {stream.name} has kinds {stream.kinds}; the alphabet has {n}, from 0"
                )
            if stream.tag is None:
                continue
            wrong = self.alphabet.wrong_tag(stream.tag, stream.kinds)
            if wrong is not None:
                raise ModelError(f"stream {stream.name}: {wrong}")

    @property
    def events(self) -> int:
        """Number of events in all streams, without heartbeats."""
        return sum(len(stream) for stream in self.streams)
