"""Splits a program into segments: small programs that run in groups without a shuffle.

A DGS program is one segment; its groups are independent parts of the alphabet.
A query has one segment per operator; groups own buckets of keys.
A pipeline has one segment per operator with a state, including the stateless operators after it; groups own
partitions of keys. Leading stateless operators need no group (`front`).
A typed dataflow graph has one segment per level (`levels`).

Keys are spread over one group per worker, and a group has a state for each key. With a group per key, Python calls
would cost more than their work.
"""

from bisect import bisect_right
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamlab.engines.spark.generic.levels import Level, levels
from streamlab.engines.spark.generic.tables import TAG, events, pack
from streamlab.workloads.model import (
    Alphabet,
    Dataflow,
    DGSProgram,
    Pipeline,
    Program,
    Query,
)
from streamlab.workloads.model.dgs.dependence import independent_parts
from streamlab.workloads.model.operators.key_buckets import bucket_of, hash_key
from streamlab.workloads.model.pipeline.program import PARTITIONED, STATELESS, Stage
from streamlab.workloads.model.streams.stream import IntArray

PLACE = 3
"""Number of columns of an event's place in the total order: event time, stream, row in the stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One segment.

    Attributes:
        program: the program that the segment's groups run, in the model of the whole program; None if groups only sort.
        groups: number of groups.
        places: number of columns that order the input.
        parts: the part of each tag in a DGS program; None for other programs.
        level: the level of a typed dataflow graph; None for other programs.
    """

    program: Program | None
    groups: int
    places: int = PLACE
    parts: IntArray | None = None
    level: Level | None = None

    @property
    def places_out(self) -> int:
        """Number of columns that order the output: the place of the cause, then the number of the result."""
        if self.program is None:
            return self.places
        return PLACE if isinstance(self.program, Query) else self.places + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """A program split into at least one segment.

    Attributes:
        program: the program.
        front: leading stateless operators of a pipeline or a graph, which run in the tasks that read streams; or None.
        segments: the segments, in the order of the data.
    """

    program: Program
    front: Segment | None
    segments: tuple[Segment, ...]

    @property
    def description(self) -> str:
        """The number of groups of each segment, for users."""
        counts = [f"{part.groups} group{'s' * (part.groups > 1)}" for part in self.segments]
        return ", then ".join(counts)


def segments(program: Program, alphabet: Alphabet, workers: int) -> Segments:
    """Split a program for an alphabet and a number of workers; the result is equal in every process."""
    if isinstance(program, Pipeline):
        return _pipeline(program, workers)
    if isinstance(program, Query):
        return Segments(program=program, front=None, segments=_query(program, workers))
    if isinstance(program, Dataflow):
        return _dataflow(program, workers)
    assert isinstance(program, DGSProgram), "the adapter runs no other programs"
    parts = independent_parts(program, alphabet)
    groups = min(workers, len(np.unique(parts)))
    segment = Segment(program=program, groups=groups, parts=parts)
    return Segments(program=program, front=None, segments=(segment,))


def _query(query: Query, workers: int) -> tuple[Segment, ...]:
    return tuple(
        Segment(
            program=replace(query, operators=(operator,)), groups=min(workers, operator.buckets)
        )
        for operator in query.operators
    )


def _dataflow(flow: Dataflow, workers: int) -> Segments:
    front, *later_segments = (
        Segment(program=flow, groups=level.groups, places=PLACE + level.number, level=level)
        for level in levels(flow, workers)
    )
    return Segments(program=flow, front=front, segments=tuple(later_segments))


def _pipeline(pipeline: Pipeline, workers: int) -> Segments:
    cuts: list[tuple[int, int]] = []
    for index, stage in enumerate(pipeline.stages):
        groups = _groups(stage, workers)
        if groups and (not cuts or (groups, cuts[-1][1]) != (1, 1)):
            cuts.append((index, groups))
    begins = [index for index, _ in cuts]
    first = begins[0] if begins else len(pipeline.stages)
    front = Segment(program=_slice(pipeline, 0, first), groups=1) if first else None
    places = PLACE + (front is not None)
    parts: list[Segment] = []
    for (begin, groups), end in zip(cuts, [*begins, len(pipeline.stages)][1:], strict=True):
        stages = _slice(pipeline, begin, end)
        parts.append(Segment(program=stages, groups=groups, places=places + len(parts)))
    if not parts:
        # Files of different streams do not end at the same event time, so a segment must sort records.
        parts.append(Segment(program=None, groups=1, places=places))
    return Segments(program=pipeline, front=front, segments=tuple(parts))


def _groups(stage: Stage, workers: int) -> int:
    """Return the number of groups of an operator; 0 for a stateless operator."""
    if stage.kind == STATELESS:
        return 0
    if stage.kind != PARTITIONED:
        return 1
    partitions = stage.partitions if stage.bounds is None else len(stage.bounds) + 1
    return min(workers, partitions)


def _slice(pipeline: Pipeline, begin: int, end: int) -> Pipeline:
    return replace(pipeline, event=pipeline.input_of(begin), stages=pipeline.stages[begin:end])


def assign_groups(segment: Segment, alphabet: Alphabet, table: pa.Table) -> list[bytes | None]:
    """Return the records of each group of a segment, as bytes; None for groups without records."""
    if not len(table):
        return [None] * segment.groups
    if segment.groups == 1:
        return [pack(table)]
    if isinstance(segment.program, Query) and segment.program.operators[0].join is not None:
        return [pack(table)] * segment.groups
    return [
        pack(table.filter(pa.array(mask))) if mask.any() else None
        for mask in _owners(segment, alphabet, table)
    ]


def _owners(segment: Segment, alphabet: Alphabet, table: pa.Table) -> npt.NDArray[np.bool_]:
    """Return bool[groups, rows]: which groups need which records."""
    program, groups = segment.program, segment.groups
    assert program is not None
    owners = np.zeros((groups, len(table)), dtype=np.bool_)
    if segment.level is not None:
        owners[segment.level.groups_of(table), np.arange(len(table))] = True
    elif isinstance(program, DGSProgram):
        assert segment.parts is not None
        owners[segment.parts[table[TAG].to_numpy()] % groups, np.arange(len(table))] = True
    elif isinstance(program, Pipeline):
        key = program.stages[0].key
        assert key is not None, "only segments with keys have several groups"
        for row, t in enumerate(events(program, alphabet, table)):
            owners[_partition(program.stages[0], int(key(t))) % groups, row] = True
    else:
        assert isinstance(program, Query)
        (operator,) = program.operators
        keys: set[int] = set()
        out = SimpleNamespace(add=keys.add)
        for row, t in enumerate(events(program, alphabet, table)):
            operator.keys(t, out)
            owners[[bucket_of(operator, key_) % groups for key_ in keys], row] = True
            keys.clear()
    return owners


def _partition(stage: Stage, key: int) -> int:
    if stage.bounds is not None:
        return bisect_right(stage.bounds, key)
    return hash_key(key) % stage.partitions
