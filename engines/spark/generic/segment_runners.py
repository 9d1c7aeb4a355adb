"""Runs a segment in one group: the program's functions on the group's records, in order."""

from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from streamlab.engines.spark.generic.level_runner import FlowLevel
from streamlab.engines.spark.generic.segments import Segment
from streamlab.engines.spark.generic.tables import TAG, Counter, events, output_table
from streamlab.workloads.model import Alphabet, Dataflow, DGSProgram, Pipeline, Query
from streamlab.workloads.model.dgs.reference import KeyedRun
from streamlab.workloads.model.operators.instance import Row, instance
from streamlab.workloads.model.operators.key_buckets import bucket_of
from streamlab.workloads.model.pipeline.reference import PipelineRun
from streamlab.workloads.model.streams.records import Emitter, initial_state, rows_to_columns
from streamlab.workloads.model.streams.stream import IntArray


class Runner(Protocol):
    """Runs one group."""

    def run(self, table: pa.Table | None, watermark: int) -> pa.Table | None:
        """Process records, in order, and close the windows that end at or before the watermark."""

    def state(self) -> Any:
        """Return the state between two calls; it can be pickled."""

    def restore(self, saved: Any) -> None:
        """Restore the state that `state` of another runner of the group returned."""


def runner(
    segment: Segment, alphabet: Alphabet, group: int = 0, opening: int | None = None
) -> Runner:
    """Return a runner for a group of a segment, without state.

    `opening` is the time of the first event of the input; None: the input is empty, or the segment needs no opening.
    """
    if isinstance(segment.program, Dataflow):
        return FlowLevel(segment, alphabet, group, opening)
    if isinstance(segment.program, DGSProgram):
        return _Parts(segment, alphabet)
    if isinstance(segment.program, Query):
        return _Keys(segment, alphabet, group)
    assert isinstance(segment.program, Pipeline)
    return Stages(segment.program, segment.places)


class _Parts:
    """Runs a DGS program on parts of its alphabet, with one state per part."""

    def __init__(self, segment: Segment, alphabet: Alphabet) -> None:
        assert isinstance(segment.program, DGSProgram)
        assert segment.parts is not None
        self._program, self._parts, self._alphabet = segment.program, segment.parts, alphabet
        self._places = segment.places
        self._states: dict[int, Any] = {}
        # All keys of an event across keys are in one part, so one run may serve several parts.
        self._run = KeyedRun(self._program, alphabet.keys) if self._program.across else None

    def run(self, table: pa.Table | None, watermark: int) -> pa.Table | None:
        if table is None:
            return None
        program, states = self._program, self._states
        update, out = program.states[0].update, Emitter(program.output)
        counter = Counter(out.rows)
        parts = self._parts[table[TAG].to_numpy()].tolist()
        for event, part in zip(events(program, self._alphabet, table), parts, strict=True):
            if self._run is not None:
                self._run.process(event, out)
                counter.note()
                continue
            state = states.get(part)
            if state is None:
                state = states[part] = initial_state(program)
            update(state, event, out)
            counter.note()
        return output_table(out.columns(program.output), counter.places(table, self._places))

    def state(self) -> Any:
        return self._states if self._run is None else self._run.state()

    def restore(self, saved: Any) -> None:
        if self._run is None:
            self._states = saved
        else:
            self._run.restore(saved)


class _Keys:
    """Runs an operator O+ on the buckets of keys that the group owns."""

    def __init__(self, segment: Segment, alphabet: Alphabet, group: int) -> None:
        assert isinstance(segment.program, Query)
        self._query, self._alphabet, self._group = segment.program, alphabet, group
        (operator,) = segment.program.operators
        groups = segment.groups
        owns = None if groups == 1 else lambda key: bucket_of(operator, key) % groups == group
        self._rows: list[Row] = []
        self._instance = instance(operator, self._rows.append, owns)

    def run(self, table: pa.Table | None, watermark: int) -> pa.Table | None:
        if table is not None:
            for t in events(self._query, self._alphabet, table):
                self._instance.process(t)
        self._instance.advance(watermark)
        columns = rows_to_columns(self._rows, self._query.output)
        self._rows.clear()
        ts: IntArray = columns["ts"].astype(np.int64, copy=False)
        nth = np.arange(len(ts))
        return output_table(columns, [ts, np.full_like(nth, self._group), nth])

    def state(self) -> Any:
        return self._instance.state()

    def restore(self, saved: Any) -> None:
        self._instance.restore(saved)


class Stages:
    """Runs operators of a pipeline on partitions of keys."""

    def __init__(self, pipeline: Pipeline, places: int) -> None:
        """Start without states; `places` is the number of place columns."""
        self._pipeline, self._places = pipeline, places
        self._rows: list[Row] = []
        self._run = PipelineRun(pipeline, self._rows.append)

    def run(self, table: pa.Table | None, watermark: int) -> pa.Table | None:
        """Process records in order."""
        if table is None:
            return None
        counter = Counter(self._rows)
        alphabet = Alphabet(kinds=self._pipeline.kinds)
        for t in events(self._pipeline, alphabet, table):
            self._run.process(t)
            counter.note()
        columns = rows_to_columns(self._rows, self._pipeline.output)
        output = output_table(columns, counter.places(table, self._places))
        self._rows.clear()
        return output

    def state(self) -> Any:
        """Return the states by operator."""
        return self._run.state()

    def restore(self, saved: Any) -> None:
        """Restore states."""
        self._run.restore(saved)
