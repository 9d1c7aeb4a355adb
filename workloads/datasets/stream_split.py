"""Assigns events to physical streams, and checks how many streams a program allows.

In a dataset made from a table, each kind has its own streams, in the order of the program's kinds, which breaks ties
in time. A kind's events go to its streams round-robin, in order of time. A kind cannot be split if its events depend on
each other. A kind that is the input of a join cannot be split either, because joins read one stream per input.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from streamlab.workloads.datasets.arrow import Column
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.sorted_runs import SortedRuns
from streamlab.workloads.model import (
    Block,
    DGSProgram,
    ListColumn,
    Program,
    Query,
    StreamSpec,
    Tag,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One stream of a kind, and its turn in the round-robin assignment.

    Attributes:
        name: name of the stream.
        kind: index of the kind.
        turn: index among the kind's streams.
        count: number of the kind's streams.
    """

    name: str
    kind: int
    turn: int
    count: int

    def rows(self, kind_rows: int) -> int:
        """Return the number of this stream's rows, given the number of all rows of its kind."""
        return len(range(self.turn, kind_rows, self.count))

    def blocks(self, rows: SortedRuns, begin: int, end: int) -> Iterator[Block]:
        """Yield the rows of this stream from `begin` to before `end`, given all rows of its kind."""
        first = row = self.turn + begin * self.count
        for block in rows.blocks(first, min(rows.count, self.turn + end * self.count)):
            selected = slice((first - row) % self.count, None, self.count)
            row += len(block["ts"])
            yield {name: _take(column, selected) for name, column in block.items()}


def _take(column: Column, selected: slice) -> Column:
    if isinstance(column, ListColumn):
        return column.take(np.arange(len(column))[selected])
    return column[selected]


MAX_IN_ORDER = 256
"""Maximum number of streams of queries and pipelines, which the multicore engine's ordered log merges."""


def check_streams(program: Program, streams: int) -> None:
    """Refuse, before reading anything, a number of streams that engines would refuse.

    Raises:
        DatasetError: `streams` is above 1 and no kind can be split, or engines cannot merge that many.
    """
    reasons = [why_unsplit(program, kind) for kind in range(len(program.kinds))]
    if streams > 1 and all(reasons):
        raise DatasetError(
            f"streams is {streams}, but the input of {program.name} takes one stream of each kind "
            f"({reasons[0]}); leave it out"
        )
    count = sum(1 if reason else streams for reason in reasons)
    if _too_many(program, count):
        raise DatasetError(
            f"streams is {streams}, which makes {count} streams for {program.name}; engines that "
            f"merge streams in order take {MAX_IN_ORDER} at most, so give "
            f"{MAX_IN_ORDER // len(reasons)} or fewer"
        )


def check_generated(program: Program, streams: Sequence[StreamSpec]) -> None:
    """Refuse streams that engines would refuse, before generating them.

    Raises:
        DatasetError: as `check_streams`.
    """
    for index, kind in enumerate(program.kinds):
        count = sum(kind in stream.kinds for stream in streams)
        why = why_unsplit(program, index)
        if count > 1 and why:
            raise DatasetError(
                f"there would be {count} streams of {kind}, but the input of {program.name} takes "
                f"one stream of each kind ({why}); give other parameters (--param)"
            )
    if _too_many(program, len(streams)):
        raise DatasetError(
            f"there would be {len(streams)} streams for {program.name}; engines that merge streams "
            f"in order take {MAX_IN_ORDER} at most; give other parameters (--param)"
        )


def _too_many(program: Program, streams: int) -> bool:
    return not isinstance(program, DGSProgram) and streams > MAX_IN_ORDER


def shares(program: Program, streams: int) -> tuple[Share, ...]:
    """Return the streams of a program, in the order that breaks ties.

    Raises:
        DatasetError: as `check_streams`.
    """
    check_streams(program, streams)
    reasons = [why_unsplit(program, kind) for kind in range(len(program.kinds))]
    return tuple(
        Share(
            name=name if why else f"{name}-{index}",
            kind=kind,
            turn=index,
            count=1 if why else streams,
        )
        for kind, (name, why) in enumerate(zip(program.kinds, reasons, strict=True))
        for index in range(1 if why else streams)
    )


def why_unsplit(program: Program, kind: int) -> str:
    """Return why a kind's events must share one stream; empty if they may be split."""
    if isinstance(program, DGSProgram) and program.dependent(Tag(kind), Tag(kind)):
        return f"events of kind {program.kinds[kind]} depend on each other"
    if isinstance(program, Query) and program.operators[0].join is not None:
        return "the engines' joins read one stream for each of their inputs"
    return ""
