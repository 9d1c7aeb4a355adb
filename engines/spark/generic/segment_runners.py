"""Runs a segment (see segments.py) in one group: the program's functions on the group's records, in order.

A runner has three methods. `run(table, watermark)` processes records in order, closes the windows that end at or before
the watermark, and returns the outputs or None. `state()` returns a state that can be pickled, and `restore(saved)`
restores it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from streamlab.engines.spark.generic.level_runner import FlowLevel
from streamlab.engines.spark.generic.segments import Segment
from streamlab.engines.spark.generic.tables import Counter, events, output_table
from streamlab.workloads.model import Alphabet, Dataflow, DGSProgram, Pipeline, Query
from streamlab.workloads.model.dgs.reference import KeyedRun
from streamlab.workloads.model.operators.instance import Row, instance
from streamlab.workloads.model.operators.key_buckets import bucket_of
from streamlab.workloads.model.pipeline.reference import PipelineRun
from streamlab.workloads.model.streams.records import Emitter, rows_to_columns
from streamlab.workloads.model.streams.stream import IntArray


def runner(
    segment: Segment, alphabet: Alphabet, group: int = 0, opening: int | None = None
) -> "FlowLevel | _Keys | _Records":
    """Return a runner for a group of a segment, without state.

    `opening` is the time of the input's first event; None if the input is empty, or the segment does not need it.
    """
    if isinstance(segment.program, Dataflow):
        return FlowLevel(segment, alphabet, group, opening)
    if isinstance(segment.program, Query):
        return _Keys(segment, alphabet, group)
    return _Records(segment, alphabet)


class _Records:
    """Runs a DGS program, or operators of a pipeline, on one record after the other."""

    def __init__(self, segment: Segment, alphabet: Alphabet) -> None:
        program = segment.program
        assert isinstance(program, DGSProgram | Pipeline)
        self._program, self._alphabet, self._places = program, alphabet, segment.places
        self._out = Emitter(program.output)
        self._run: KeyedRun | PipelineRun
        self._process: Callable[[Any], None]
        if isinstance(program, Pipeline):
            pipeline = self._run = PipelineRun(program, self._out.rows.append)
            self._process = pipeline.process
        else:
            keyed = self._run = KeyedRun(program, alphabet.keys)
            self._process = partial(keyed.process, out=self._out)

    def run(self, table: pa.Table | None, watermark: int) -> pa.Table | None:
        if table is None:
            return None
        counter = Counter(self._out.rows)
        for event in events(self._program, self._alphabet, table):
            self._process(event)
            counter.mark()
        columns = self._out.columns(self._program.output)
        output = output_table(columns, counter.places(table, self._places))
        self._out.rows.clear()
        return output

    def state(self) -> Any:
        return self._run.state()

    def restore(self, saved: Any) -> None:
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
        number = np.arange(len(ts))
        return output_table(columns, [ts, np.full_like(number, self._group), number])

    def state(self) -> Any:
        return self._instance.state()

    def restore(self, saved: Any) -> None:
        self._instance.restore(saved)
