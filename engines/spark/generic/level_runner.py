"""Runs a level (see levels.py) of a typed dataflow graph in one group, with the model's reference interpreter."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from streamlab.engines.spark.generic.graph_items import MARKER, OUT, Items
from streamlab.engines.spark.generic.segments import Segment
from streamlab.engines.spark.generic.tables import Counter, events, output_table, sort_by_place
from streamlab.workloads.model import Alphabet, Dataflow
from streamlab.workloads.model.dataflow import OpStateless
from streamlab.workloads.model.dataflow.reference import as_rows, first_marker, to_all, value_of
from streamlab.workloads.model.dataflow.vertex_reference import Marker, Take, start
from streamlab.workloads.model.streams.records import rows_to_columns

BEHIND_ALL = 1 << 62
"""Stream number of markers at level 0; adding the level sorts a marker after all results of earlier levels."""


class FlowLevel:
    """Runs the vertices of one group at one level.

    In a level's input, a marker is a row that comes after all results of earlier events. The marker's own results come
    before the same marker in the input of the next level.
    """

    def __init__(
        self, segment: Segment, alphabet: Alphabet, group: int, opening: int | None
    ) -> None:
        """Start without states; `opening` is the time of the input's first event, or None if it is empty."""
        assert isinstance(segment.program, Dataflow)
        assert segment.level is not None
        flow, level = segment.program, segment.level
        self._flow, self._level, self._alphabet = flow, level, alphabet
        self._places = segment.places
        self._next = None if opening is None else first_marker(opening, flow.markers)
        self._reads = Items(level.types_read(flow))
        self._rows: list[Any] = []
        stateless = {
            index
            for index, vertex in enumerate(flow.vertices)
            if isinstance(vertex.operator, OpStateless)
        }
        local = {*stateless, *level.keyed, *(flow.sources if level.number == 0 else ())}
        self._runs = {index: start(flow.vertices[index], _drop) for index in sorted(local)}
        for index, run in self._runs.items():
            readers = [self._take_of(reader) for reader in flow.readers(index)]
            run.give = to_all(readers or [self._take_of(OUT)])
        # Only one instance of a stateless operator takes the marker.
        is_first = level.number == 1 and group == 0
        self._marker_runs = [run for i, run in self._runs.items() if is_first or i not in stateless]

    def run(self, table: pa.Table | None, watermark: int) -> pa.Table | None:
        """Process a table, in order, and the markers up to the watermark."""
        table = self._with_markers(table, watermark) if self._level.number else table
        if table is None:
            return None
        counter = Counter(self._rows)
        for take, key, value in self._pairs(table) if self._level.number else self._events(table):
            take(key, value)
            counter.mark()
        places = counter.places(table, self._places)
        if self._level.number == self._level.last:
            output = output_table(rows_to_columns(self._rows, self._flow.output), places)
        else:
            output = Items(self._level.next().types_read(self._flow)).table(self._rows, places)
        self._rows.clear()
        return output

    def state(self) -> Any:
        """Return the next marker and the states; they can be pickled."""
        return self._next, {index: run.state() for index, run in self._runs.items()}

    def restore(self, saved: Any) -> None:
        """Restore the state that `state` returned."""
        self._next, states = saved
        for index, state in states.items():
            self._runs[index].restore(state)

    def _take_of(self, vertex: int) -> Take:
        """Return the function that takes pairs for a vertex: processes them here, or stores them for the next level."""
        run = self._runs.get(vertex)
        if run is not None:
            return run.item
        add = self._rows.append
        if vertex == OUT and self._level.number == self._level.last:
            return as_rows(self._flow.vertices[-1].type, add)
        return lambda key, value: add((vertex, key, value))

    def _with_markers(self, table: pa.Table | None, watermark: int) -> pa.Table | None:
        """Return a table with the due markers added, in order."""
        period = self._flow.markers
        if self._next is None or self._next > watermark:
            return table
        count = (watermark - self._next) // period + 1
        times = self._next + period * np.arange(count)
        self._next += period * count
        source = np.full_like(times, BEHIND_ALL + self._level.number)
        zeros = [np.zeros_like(times)] * (self._places - 2)
        markers = self._reads.markers(times, [times - 1, source, *zeros])
        return sort_by_place([markers, *([] if table is None else [table])], self._places)

    def _pairs(self, table: pa.Table) -> Iterator[tuple[Take, int, Any]]:
        takes = {vertex: self._take_of(vertex) for vertex in self._level.types_read(self._flow)}
        takes[MARKER] = self._mark
        for vertex, key, value in self._reads.pairs(table):
            yield takes[vertex], key, value

    def _events(self, table: pa.Table) -> Iterator[tuple[Take, int, Any]]:
        sources = [
            (self._runs[index].item, value_of(self._flow.vertices[index].type))
            for index in self._flow.sources
        ]
        for event in events(self._flow, self._alphabet, table):
            take, value = sources[event.kind]
            yield take, 0, value(event)

    def _mark(self, ts: int, _: Any) -> None:
        m = Marker(ts)
        for run in self._marker_runs:
            run.marker(m)


def _drop(key: int, value: Any) -> None:
    """Drop a pair; a placeholder until a vertex's readers are set."""
