"""Buffers events until no earlier event can arrive.

The header of each piece of a stream (see the parcels in steps.py) states its rows and its last event time. The headers
alone show the progress of each stream, in whatever order Spark reads files. Events that all streams have passed are
complete in total order (event time, stream, row). All groups get all headers, so all release the same prefix in a
micro-batch.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from streamlab.engines.spark.files import END
from streamlab.engines.spark.generic.tables import pack, sort_by_place, unpack

BEGIN = int(np.iinfo(np.int64).min) - 1
"""A time before any event time."""


@dataclass(slots=True)
class StreamProgress:
    """The progress of one stream.

    Attributes:
        rows: number of rows that have arrived without a gap.
        ts: event time of the last of these rows; further rows are not earlier.
        later_pieces: pieces after a gap, as first row, end row (exclusive) and time of the last row.
    """

    rows: int = 0
    ts: int = BEGIN
    later_pieces: list[tuple[int, int, int]] = field(default_factory=list)

    def add_piece(self, begin: int, end: int, ts: int) -> None:
        """Record the arrival of a piece."""
        self.later_pieces.append((begin, end, ts))
        self.later_pieces.sort(reverse=True)
        while self.later_pieces and self.later_pieces[-1][0] == self.rows:
            _, self.rows, self.ts = self.later_pieces.pop()


@dataclass(slots=True)
class GroupProgress:
    """The state of a group between micro-batches, which can be pickled.

    Attributes:
        streams: the progress of each stream.
        waiting: buffered events, as tables in bytes.
        value: the state of the segment's runner; None before its first run.
    """

    streams: list[StreamProgress]
    waiting: list[bytes] = field(default_factory=list)
    value: Any = None

    @property
    def frontier(self) -> tuple[int, int]:
        """The last complete event time and stream."""
        return min((progress.ts, src) for src, progress in enumerate(self.streams))

    def end(self) -> None:
        """Record that the whole input has arrived."""
        self.streams = [StreamProgress(ts=END)]

    def release(self, tables: list[pa.Table], places: int) -> pa.Table | None:
        """Return the complete prefix of the buffered events and of `tables`, in order; buffer the rest."""
        tables = [*map(unpack, self.waiting), *tables]
        self.waiting = []
        if not tables:
            return None
        events = sort_by_place(tables, places)
        ts, source = events["place 0"].to_numpy(), events["place 1"].to_numpy()
        limit, last = self.frontier
        complete = int(np.count_nonzero((ts < limit) | ((ts == limit) & (source <= last))))
        if limit == END:
            complete = len(events)
        if complete < len(events):
            self.waiting = [pack(events.slice(complete))]
        return events.slice(0, complete)
