"""Runs typed dataflow graphs sequentially, by interpreting their vertices.

A vertex with several inputs takes items as they come, and a marker once all inputs have passed it.
"""

from collections import defaultdict
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from streamlab.workloads.model.dataflow.program import Dataflow, Vertex
from streamlab.workloads.model.dataflow.types import TraceType
from streamlab.workloads.model.dataflow.vertex_reference import Marker, Take, VertexRun, start
from streamlab.workloads.model.errors import ProgramError
from streamlab.workloads.model.streams.records import record_type

MAX_MARKERS = 1 << 30
"""Largest number of markers of an input; a larger number indicates a period in the wrong unit of time."""


class SharedKeyError(ProgramError):
    """Reports a key of two inputs that are declared to have disjoint keys."""


class GraphRun:
    """Runs a graph on items of its sources and markers."""

    def __init__(
        self, flow: Dataflow, give: Take, begin: Callable[[Vertex, Take], VertexRun] = start
    ) -> None:
        """Start all vertices by `begin`; `give` takes each item that leaves the graph."""
        self._runs = [begin(vertex, give) for vertex in flow.vertices]
        self._key_inputs: dict[int, dict[int, int]] = defaultdict(dict)
        for index, run in enumerate(self._runs[:-1]):
            run.give = to_all([self._take(flow, index, i) for i in flow.readers(index)])
        self._takes = [self._runs[index].item for index in flow.sources]

    def item(self, kind: int, value: Any) -> None:
        """Process an item of the source of a kind.

        Raises:
            ProgramError: An operator emitted a value that does not fit its output type.
            SharedKeyError: Inputs that are declared to have disjoint keys share a key.
        """
        self._takes[kind](0, value)

    def marker(self, m: Marker) -> None:
        """Pass a marker through the graph."""
        for run in self._runs:
            run.marker(m)

    def _take(self, flow: Dataflow, before: int, index: int) -> Take:
        """Return the function that passes the items of vertex `before` to vertex `index`."""
        vertex, take = flow.vertices[index], self._runs[index].item
        if not vertex.disjoint_keys:
            return take
        inputs = self._key_inputs[index]

        def take_own(key: int, value: Any) -> None:
            other = inputs.setdefault(key, before)
            if other != before:
                names = f"{flow.vertices[other].name} and {flow.vertices[before].name}"
                raise SharedKeyError(
                    f"dataflow {flow.name}: {vertex.name} reads {vertex.type.key} {key} from {names}, "
                    "but is added with disjoint_keys=True; put SORT before it instead"
                )
            take(key, value)

        return take_own


class FlowRun:
    """Runs a graph on events: call `process` with all events in total order, then `finish`."""

    def __init__(self, flow: Dataflow, emit: Callable[[tuple[Any, ...]], None]) -> None:
        """Start all vertices without state; `emit` takes each output record, a tuple of its fields."""
        self._period = flow.markers
        self._next: int | None = None
        self._run = GraphRun(flow, as_rows(flow.vertices[-1].type, emit))
        self._values = [value_of(flow.vertices[index].type) for index in flow.sources]

    def process(self, event: Any) -> None:
        """Process the markers before an event, then the event (`ts`, `kind`, the fields of all sources).

        Raises:
            ProgramError: An operator emitted a value that does not fit its output type.
        """
        self._pass_time(event.ts)
        self._run.item(event.kind, self._values[event.kind](event))

    def finish(self, until_ts: int | None) -> None:
        """Process the markers before `until_ts`; None means no further markers."""
        if until_ts is not None and self._next is not None:
            self._pass_time(until_ts - 1)

    def _pass_time(self, ts: int) -> None:
        """Process the markers up to time `ts`."""
        if self._next is None:
            self._next = first_marker(ts, self._period)
        if (ts - self._next) // self._period > MAX_MARKERS:
            raise ProgramError(
                f"{(ts - self._next) // self._period:,} markers up to time {ts}, one every "
                f"{self._period}; the limit is {MAX_MARKERS:,}: give markers a longer period"
            )
        while self._next <= ts:
            self._run.marker(Marker(self._next))
            self._next += self._period


def first_marker(ts: int, period: int) -> int:
    """Return the time of the first marker of an input whose first event has time `ts`."""
    return (ts // period + 1) * period


def to_all(readers: list[Take]) -> Take:
    """Return a function that passes items to all readers."""
    if len(readers) == 1:
        return readers[0]

    def give(key: int, value: Any) -> None:
        for take in readers:
            take(key, value)

    return give


def as_rows(link: TraceType, emit: Callable[[tuple[Any, ...]], None]) -> Take:
    """Return a function that emits items of a type as output records."""
    if link.key is None:
        return lambda _, value: emit(tuple(value))
    return lambda key, value: emit((value[0], key, *value[1:]))


def value_of(link: TraceType) -> Callable[[Any], Any]:
    """Return a function that makes a source's value from an event with the fields of all sources."""
    make = record_type(link.fields[1:])._make
    pick = attrgetter(*link.fields)
    if len(link.fields) == 1:
        return lambda event: make((pick(event),))
    return lambda event: make(pick(event))
