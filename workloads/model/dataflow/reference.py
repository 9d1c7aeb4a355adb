"""Runs typed dataflow graphs sequentially, by the interpretation of their vertices.

Several inputs are merged by taking items as they come; a marker is given to a vertex when all that
it reads have passed it.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from streamlab.workloads.model.dataflow.program import Dataflow, Vertex
from streamlab.workloads.model.dataflow.types import TraceType
from streamlab.workloads.model.dataflow.vertex_reference import Marker, Take, VertexRun, start
from streamlab.workloads.model.errors import ProgramError
from streamlab.workloads.model.streams.records import record_type

MOST_MARKERS = 1 << 30
"""Most markers of an input: more are a period in the wrong unit of time."""


class GraphRun:
    """A graph that is running: give it items of its sources, and markers."""

    def __init__(
        self, flow: Dataflow, give: Take, begin: Callable[[Vertex, Take], VertexRun] = start
    ) -> None:
        """Start all vertices without state.

        Args:
            flow: what to run.
            give: takes each item that leaves the graph.
            begin: starts a vertex.
        """
        self._runs = [begin(vertex, give) for vertex in flow.vertices]
        for index, run in enumerate(self._runs[:-1]):
            run.give = to_all([self._runs[i].item for i in flow.readers(index)])
        self._takes = [self._runs[index].item for index in flow.sources]

    def item(self, kind: int, value: Any) -> None:
        """Take an item of the source of a kind.

        Raises:
            ProgramError: an operator gave what its type does not hold.
        """
        self._takes[kind](0, value)

    def marker(self, m: Marker) -> None:
        """Pass a marker through the graph."""
        for run in self._runs:
            run.marker(m)


class FlowRun:
    """A graph that is running. Give it all events in total order, then its end."""

    def __init__(self, flow: Dataflow, emit: Callable[[tuple[Any, ...]], None]) -> None:
        """Start all vertices without state.

        Args:
            flow: what to run.
            emit: takes each record that leaves the graph, a tuple of the fields of its output.
        """
        self._period = flow.markers
        self._next: int | None = None
        self._run = GraphRun(flow, as_rows(flow.vertices[-1].type, emit))
        self._values = [value_of(flow.vertices[index].type) for index in flow.sources]

    def process(self, event: Any) -> None:
        """Take an event (`ts`, `kind`, and the fields of all sources), and the markers before it.

        Raises:
            ProgramError: an operator gave what its type does not hold.
        """
        self._pass_time(event.ts)
        self._run.item(event.kind, self._values[event.kind](event))

    def finish(self, until_ts: int | None) -> None:
        """Take the markers up to the last instant before `until_ts`; None: there are none."""
        if until_ts is not None and self._next is not None:
            self._pass_time(until_ts - 1)

    def _pass_time(self, ts: int) -> None:
        if self._next is None:
            self._next = first_marker(ts, self._period)
        if (ts - self._next) // self._period > MOST_MARKERS:
            raise ProgramError(
                f"{(ts - self._next) // self._period:,} markers up to time {ts}, one every "
                f"{self._period}: give markers a longer period"
            )
        while self._next <= ts:
            self._run.marker(Marker(self._next))
            self._next += self._period


def first_marker(ts: int, period: int) -> int:
    """Return the time of the first marker of an input whose first event has time `ts`."""
    return (ts // period + 1) * period


def to_all(readers: list[Take]) -> Take:
    """Return what gives items to all that read them."""
    if len(readers) == 1:
        return readers[0]

    def give(key: int, value: Any) -> None:
        for take in readers:
            take(key, value)

    return give


def as_rows(of: TraceType, emit: Callable[[tuple[Any, ...]], None]) -> Take:
    """Return what makes records of the items that leave the graph."""
    if of.key is None:
        return lambda _, value: emit(tuple(value))
    return lambda key, value: emit((value[0], key, *value[1:]))


def value_of(of: TraceType) -> Callable[[Any], Any]:
    """Return what makes a source's value of an event, which has the fields of all sources."""
    make = record_type(of.fields[1:])._make
    pick = attrgetter(*of.fields)
    return (lambda event: make((pick(event),))) if len(of.fields) == 1 else lambda e: make(pick(e))
