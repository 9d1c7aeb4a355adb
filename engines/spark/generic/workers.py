"""Wraps the steps of a generic query (see steps.py) as functions that Spark's Python workers run."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from streamlab.engines.spark.generic.reordering import GroupProgress
from streamlab.engines.spark.generic.segments import Segments, segments
from streamlab.engines.spark.generic.steps import (
    PARCEL,
    Parcel,
    Step,
    initial_state,
    parcels_of,
    pieces,
)
from streamlab.engines.spark.generic.task_reference import TaskReference
from streamlab.engines.spark.streaming.groups import ValueProcessor, labels

_TYPES = {"int": pa.int32(), "long": pa.int64(), "binary": pa.binary()}
_SCHEMA = pa.schema(
    [(name, _TYPES[dtype]) for name, dtype in (field.split() for field in PARCEL.split(", "))]
)


def segments_of(reference: TaskReference) -> Segments:
    """Return the program in segments; works in any process."""
    return segments(reference.load(), reference.alphabet, reference.workers)


def packer(
    reference: TaskReference, kinds: tuple[int, ...], src: int
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that assigns rows of a stream to the groups of the first segment."""

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cut = segments_of(reference)
        names = labels(cut.segments[0].groups)
        for batch in batches:
            for piece in pieces(batch):
                parcels = parcels_of(cut, reference.alphabet, kinds, src, piece)
                yield _batch(parcels, names)

    return pack


def group_step(
    reference: TaskReference, index: int
) -> Callable[[tuple[pa.Scalar, ...], Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that processes a group of a segment in batch."""

    def process(
        key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        step = Step(reference=reference, cut=segments_of(reference), index=index)
        parcels = (Parcel(**row) for batch in batches for row in batch.to_pylist())
        yield _process(step, key[0].as_py(), initial_state(reference), parcels, ended=True)

    return process


class SegmentProcessor(ValueProcessor):
    """Runs a segment on Structured Streaming; a group stores its buffered events and its states."""

    def __init__(self, reference: TaskReference, index: int) -> None:
        """Load nothing yet: Spark pickles the object for its workers."""
        self._reference = reference
        self._index = index
        self._step: Step | None = None

    def process(
        self, key: tuple[Any, ...], rows: Iterator[pd.DataFrame], value: Any
    ) -> tuple[pd.DataFrame | None, Any]:
        """Process a group's parcels of a micro-batch."""
        if self._step is None:
            # Spark also calls `init` in a separate process when a query starts, so load here.
            cut = segments_of(self._reference)
            self._step = Step(reference=self._reference, cut=cut, index=self._index)
        state = value or initial_state(self._reference)
        parcels = (Parcel(*row) for frame in rows for row in frame.itertuples(index=False))
        batch = _process(self._step, int(key[0]), state, parcels, ended=False)
        return batch.to_pandas() if len(batch) else None, state


def _process(
    step: Step, label: int, state: GroupProgress, parcels: Iterable[Parcel], *, ended: bool
) -> pa.RecordBatch:
    """Run a step on the group with a label, and return its parcels for the groups of the next segment."""
    segments_ = step.cut.segments
    group = labels(segments_[step.index].groups).index(label)
    # The output of the last segment has one group.
    following = [segment.groups for segment in segments_[step.index + 1 :]] or [1]
    return _batch(step.process(group, state, parcels, ended=ended), labels(following[0]))


def _batch(parcels: Sequence[Parcel], names: Sequence[int]) -> pa.RecordBatch:
    """Return parcels as rows, with the labels of their groups."""
    rows = [parcel._replace(group=names[parcel.group])._asdict() for parcel in parcels]
    return pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)
