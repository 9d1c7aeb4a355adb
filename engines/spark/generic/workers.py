"""Wraps the steps of a generic query as functions that Spark's Python workers run."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from streamlab.engines.spark.generic.segments import Segments, segments
from streamlab.engines.spark.generic.steps import (
    Parcel,
    Step,
    initial_step_state,
    parcels_of,
    pieces,
)
from streamlab.engines.spark.generic.task_reference import TaskReference
from streamlab.engines.spark.streaming.groups import ValueProcessor, labels


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
        cut = segments_of(reference)
        group = labels(cut.segments[index].groups).index(key[0].as_py())
        parcels = (Parcel(**row) for batch in batches for row in batch.to_pylist())
        step = Step(reference=reference, cut=cut, index=index)
        output = step.process(group, initial_step_state(reference), parcels, ended=True)
        yield _batch(output, _labels_behind(cut, index))

    return process


def _labels_behind(cut: Segments, index: int) -> tuple[int, ...]:
    """Return the labels of the next segment's groups; the output of the last segment is one group."""
    following = cut.segments[index + 1 :]
    return labels(following[0].groups if following else 1)


def _batch(parcels: Sequence[Parcel], names: Sequence[int]) -> pa.RecordBatch:
    group, src, begin, end, ts, records = zip(*parcels, strict=True) if parcels else ((),) * 6
    return pa.RecordBatch.from_arrays(
        [
            pa.array([names[index] for index in group], pa.int32()),
            pa.array(src, pa.int32()),
            pa.array(begin, pa.int64()),
            pa.array(end, pa.int64()),
            pa.array(ts, pa.int64()),
            pa.array(records, pa.binary()),
        ],
        names=list(Parcel._fields),
    )


class SegmentProcessor(ValueProcessor):
    """Runs a segment on Structured Streaming; a group stores its buffered events and its states."""

    def __init__(self, reference: TaskReference, index: int) -> None:
        """Load nothing yet: Spark pickles the object for its workers."""
        self._reference = reference
        self._index = index
        self._cut: Segments | None = None

    def process(
        self, key: tuple[Any, ...], rows: Iterator[pd.DataFrame], value: Any
    ) -> tuple[pd.DataFrame | None, Any]:
        """Process a group's parcels of a micro-batch."""
        # Not in `init`, which Spark also calls in a separate process when a query starts.
        cut = self._cut = self._cut or segments_of(self._reference)
        state = value or initial_step_state(self._reference)
        group = labels(cut.segments[self._index].groups).index(int(key[0]))
        parcels = (Parcel(*row) for frame in rows for row in frame.itertuples(index=False))
        step = Step(reference=self._reference, cut=cut, index=self._index)
        output = step.process(group, state, parcels, ended=False)
        names = _labels_behind(cut, self._index)
        return _batch(output, names).to_pandas() if output else None, state
