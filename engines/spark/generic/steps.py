"""Implements the steps between shuffles: assigning rows of streams to groups, and running each segment.

Steps exchange parcels. A parcel is one row for Spark: a header, and a group's records of a piece of the input as bytes.
Each piece yields a parcel for every group of the next segment. The header of a parcel, even of an empty one, tells the
group the progress of event time.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamlab.engines.spark.files import END
from streamlab.engines.spark.generic.reordering import BEGIN, GroupProgress, StreamProgress
from streamlab.engines.spark.generic.segment_runners import runner
from streamlab.engines.spark.generic.segments import Segments, assign_groups
from streamlab.engines.spark.generic.tables import ROW, pack, sort_by_place, stream_table, unpack
from streamlab.engines.spark.generic.task_reference import TaskReference
from streamlab.workloads.model import Alphabet

PARCEL = "group int, src int, begin long, end long, ts long, records binary"
"""The schema of parcels. A parcel from a stream has rows [begin, end) of stream `src`; `ts` is the last row's time.
In a parcel from a segment, `ts` is the watermark after it. `records` is null if the parcel is empty."""

FROM_SEGMENT = -1
"""`src` of a segment's parcels."""


class Parcel(NamedTuple):
    """A row of schema PARCEL."""

    group: int
    src: int
    begin: int
    end: int
    ts: int
    records: bytes | None


def parcels_of(
    cut: Segments, alphabet: Alphabet, kinds: tuple[int, ...], src: int, piece: pa.RecordBatch
) -> list[Parcel]:
    """Return one parcel per group of the first segment; `piece` has consecutive rows."""
    columns = dict(zip(piece.schema.names, piece.columns, strict=True))
    begin, end, ts = (
        columns[ROW][0].as_py(),
        columns[ROW][-1].as_py() + 1,
        columns["ts"][-1].as_py(),
    )
    if ts == END:  # The closing heartbeat.
        columns = {name: column[:-1] for name, column in columns.items()}
    table = stream_table(cut.program, kinds, src, columns)
    if cut.front is not None:
        output = runner(cut.front, alphabet).run(table, BEGIN)
        assert output is not None, "there is a table"
        table = output
    group_records = assign_groups(cut.segments[0], alphabet, table)
    return [Parcel(group, src, begin, end, ts, rows) for group, rows in enumerate(group_records)]


def pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split a batch at gaps in its row numbers, such as at the end of a file."""
    rows = batch.column(ROW).to_numpy()
    cuts = [0, *(np.flatnonzero(np.diff(rows) != 1) + 1).tolist(), len(rows)]
    for begin, end in pairwise(cuts):
        if end > begin:
            yield batch.slice(begin, end - begin)


def initial_state(reference: TaskReference) -> GroupProgress:
    """Return the initial state of a group."""
    return GroupProgress(streams=[StreamProgress() for _ in range(reference.streams)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Runs the groups of one segment, `cut.segments[index]`."""

    reference: TaskReference
    cut: Segments
    index: int

    def process(
        self, group: int, state: GroupProgress, parcels: Iterable[Parcel], *, ended: bool
    ) -> list[Parcel]:
        """Process a group's parcels of the whole input or of a micro-batch; return the parcels for the next segment.

        Changes `state`. `ended` states that no further parcels follow, as in a batch query.
        """
        table, watermark = self._complete_records(state, parcels, ended)
        if watermark == BEGIN:
            return []
        reference = self.reference
        segment = self.cut.segments[self.index]
        if segment.program is None:  # The segment only sorts.
            return self._next_parcels(table, watermark)
        segment_runner = runner(segment, reference.alphabet, group, reference.opening)
        if state.value is not None:
            segment_runner.restore(state.value)
        output = segment_runner.run(table, watermark)
        state.value = segment_runner.state()
        return self._next_parcels(output, watermark)

    def _complete_records(
        self, state: GroupProgress, parcels: Iterable[Parcel], ended: bool
    ) -> tuple[pa.Table | None, int]:
        """Return the complete records, in order, and the watermark after them; buffer all other records in `state`."""
        places = self.cut.segments[self.index].places
        tables, watermark = [], BEGIN
        for parcel in parcels:
            if self.index:
                watermark = max(watermark, parcel.ts)
            else:
                state.streams[parcel.src].add_piece(parcel.begin, parcel.end, parcel.ts)
            if parcel.records is not None:
                tables.append(unpack(parcel.records))
        if self.index:
            # The first segment releases complete spans of the total order, and this table is such a span.
            return sort_by_place(tables, places) if tables else None, watermark
        if ended:
            state.end()
        table = state.release(tables, places)
        limit = state.frontier[0]
        return table, self.reference.closing if limit == END else limit

    def _next_parcels(self, output: pa.Table | None, watermark: int) -> list[Parcel]:
        """Return the output as parcels for the next segment; after the last segment, as one parcel if not empty."""
        later_segments = self.cut.segments[self.index + 1 :]
        group_records: Sequence[bytes | None]
        if output is None or not len(output):
            group_records = [None] * later_segments[0].groups if later_segments else []
        elif not later_segments:
            group_records = [pack(output)]
        else:
            # The outputs of a join are ahead of the watermark and advance it for the next operator.
            watermark = max(watermark, pc.max(output["place 0"]).as_py())
            group_records = assign_groups(later_segments[0], self.reference.alphabet, output)
        return [
            Parcel(group, FROM_SEGMENT, 0, 0, watermark, rows)
            for group, rows in enumerate(group_records)
        ]
