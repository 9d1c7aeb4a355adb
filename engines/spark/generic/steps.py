"""What runs between shuffles: rows of a stream are dealt to groups, and each segment has a step.

What travels between steps are parcels: a group's records of a piece of the input, as bytes, with a
header. A parcel costs Spark a row, whatever is in it. A piece gives each group of the next segment
a parcel, even if there is nothing in it: its header is what the group knows of time by.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamlab.engines.spark.generic.partitioning import deal
from streamlab.engines.spark.generic.reordering import BEGIN, Hold, Reached
from streamlab.engines.spark.generic.segment_runners import runner
from streamlab.engines.spark.generic.segments import Segments
from streamlab.engines.spark.generic.tables import ROW, in_order, of_stream, packed, unpacked
from streamlab.engines.spark.generic.task_reference import Shipped
from streamlab.engines.spark.streaming.stream_files import END
from streamlab.workloads.model import Alphabet

PARCEL = "group int, src int, begin long, end long, ts long, records binary"
"""A parcel is for a group. From a stream: `src`, and its rows from `begin` until before `end`, the
last of which is at `ts`. From a segment: `ts` is the watermark behind it. `records`: null if none.
"""

FROM_SEGMENT = -1
"""Stands for the stream in a segment's parcels."""


class Parcel(NamedTuple):
    """A row of PARCEL."""

    group: int
    src: int
    begin: int
    end: int
    ts: int
    records: bytes | None


def parcels_of(
    cut: Segments, alphabet: Alphabet, kinds: tuple[int, ...], src: int, piece: pa.RecordBatch
) -> list[Parcel]:
    """Return a parcel for each group of the first segment; `piece` has consecutive rows."""
    columns = dict(zip(piece.schema.names, piece.columns, strict=True))
    begin, end, ts = (
        columns[ROW][0].as_py(),
        columns[ROW][-1].as_py() + 1,
        columns["ts"][-1].as_py(),
    )
    if ts == END:  # the closing heartbeat
        columns = {name: column[:-1] for name, column in columns.items()}
    table = of_stream(cut.whole, kinds, src, columns)
    if cut.front is not None:
        made = runner(cut.front, alphabet).run(table, BEGIN)
        assert made is not None, "there is a table"
        table = made
    dealt = deal(cut.segments[0], alphabet, table)
    return [Parcel(group, src, begin, end, ts, some) for group, some in enumerate(dealt)]


def pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut a batch where a file ends: the next one is not where the stream goes on, perhaps."""
    rows = batch.column(ROW).to_numpy()
    cuts = [0, *(np.flatnonzero(np.diff(rows) != 1) + 1).tolist(), len(rows)]
    for begin, end in pairwise(cuts):
        if end > begin:
            yield batch.slice(begin, end - begin)


@dataclass(slots=True)
class Kept:
    """What a group keeps between micro-batches; can be pickled."""

    hold: Hold
    state: Any = None


def nothing_kept(shipped: Shipped) -> Kept:
    """Return what a group keeps at first."""
    return Kept(hold=Hold(streams=[Reached() for _ in range(shipped.streams)]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What the groups of one segment do.

    Attributes:
        shipped: of the task.
        cut: the program.
        index: of the segment.
    """

    shipped: Shipped
    cut: Segments
    index: int

    def process(
        self, group: int, kept: Kept, parcels: Iterable[Parcel], *, ended: bool
    ) -> list[Parcel]:
        """Process a group's parcels, and return those for the next segment.

        Args:
            group: of the segment's groups.
            kept: what it keeps; changed.
            parcels: all there are, or those of a micro-batch.
            ended: whether these are all, as in a batch query.
        """
        table, watermark = self._taken(kept.hold, parcels, ended)
        if watermark == BEGIN:
            return []
        shipped = self.shipped
        segment = self.cut.segments[self.index]
        running = runner(segment, shipped.alphabet, group, shipped.opening)
        if kept.state is not None:
            running.hold(kept.state)
        made = running.run(table, watermark)
        kept.state = running.held()
        return self._passed_on(made, watermark)

    def _taken(
        self, hold: Hold, parcels: Iterable[Parcel], ended: bool
    ) -> tuple[pa.Table | None, int]:
        """Return what can be processed, in order, and the watermark behind it."""
        places = self.cut.segments[self.index].places
        tables, watermark = [], BEGIN
        for parcel in parcels:
            if self.index:
                watermark = max(watermark, parcel.ts)
            else:
                hold.streams[parcel.src].piece(parcel.begin, parcel.end, parcel.ts)
            if parcel.records is not None:
                tables.append(unpacked(parcel.records))
        if self.index:
            # The first segment releases whole spans of the total order: this is one of them.
            return in_order(tables, places) if tables else None, watermark
        if ended:
            hold.end()
        table = hold.release(tables, places)
        limit = hold.frontier[0]
        return table, self.shipped.closing if limit == END else limit

    def _passed_on(self, made: pa.Table | None, watermark: int) -> list[Parcel]:
        if self.index + 1 == len(self.cut.segments):
            if made is None or not len(made):
                return []
            return [Parcel(0, FROM_SEGMENT, 0, 0, watermark, packed(made))]
        following = self.cut.segments[self.index + 1]
        if made is None or not len(made):
            dealt: Sequence[bytes | None] = [None] * following.groups
        else:
            # What a join emits is ahead of the watermark, and takes the next operator there.
            watermark = max(watermark, pc.max(made["place 0"]).as_py())
            dealt = deal(following, self.shipped.alphabet, made)
        return [
            Parcel(group, FROM_SEGMENT, 0, 0, watermark, some) for group, some in enumerate(dealt)
        ]
