"""Holds events back until nothing earlier can come any more.

Every piece of a stream says which rows of it there are and when the last of them is. So whoever
gets these headers of all pieces, with or without the events, knows how far each stream has come,
in whatever order Spark reads files. What all streams have passed is complete in the total order
(event time, stream, row). All groups get all headers, so in a micro-batch all of them release up
to the same place.
"""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from streamlab.engines.spark.generic.tables import in_order, packed, unpacked
from streamlab.engines.spark.streaming.stream_files import END

BEGIN = int(np.iinfo(np.int64).min) - 1
"""Before any event time."""


@dataclass(slots=True)
class Reached:
    """How far one stream has come.

    Attributes:
        rows: it is known without gaps up to this row.
        ts: event time of the last of these; nothing that follows is earlier.
        apart: pieces behind a gap: first row, row behind the last, time of the last.
    """

    rows: int = 0
    ts: int = BEGIN
    apart: list[tuple[int, int, int]] = field(default_factory=list)

    def piece(self, begin: int, end: int, ts: int) -> None:
        """Take note of a piece."""
        self.apart.append((begin, end, ts))
        self.apart.sort(reverse=True)
        while self.apart and self.apart[-1][0] == self.rows:
            _, self.rows, self.ts = self.apart.pop()


@dataclass(slots=True)
class Hold:
    """What waits in one group, and how far all streams have come."""

    streams: list[Reached]
    waiting: list[bytes] = field(default_factory=list)

    @property
    def frontier(self) -> tuple[int, int]:
        """The last event time and stream that are complete."""
        return min((reached.ts, src) for src, reached in enumerate(self.streams))

    def end(self) -> None:
        """Take note that all there is has come."""
        self.streams = [Reached(ts=END)]

    def release(self, tables: list[pa.Table], places: int) -> pa.Table | None:
        """Return what is complete, in order, of events that waited and new ones; keep the rest."""
        tables = [*map(unpacked, self.waiting), *tables]
        self.waiting = []
        if not tables:
            return None
        whole = in_order(tables, places)
        ts, source = whole["place 0"].to_numpy(), whole["place 1"].to_numpy()
        limit, last = self.frontier
        done = int(np.count_nonzero((ts < limit) | ((ts == limit) & (source <= last))))
        if limit == END:
            done = len(whole)
        if done < len(whole):
            self.waiting = [packed(whole.slice(done))]
        return whole.slice(0, done)
