"""Interprets typed dataflow graphs one item at a time, in plain Python: what they mean.

Every vertex is a data-string transduction: it is given items and markers one after another, and
gives items at once (Data-Trace Types, section 3.2 and table 3). What a vertex gives at a marker
leaves it before the marker does. Several inputs are merged by taking items as they come; the
sequential run gives a marker to a vertex when all that it reads have passed it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from workloads.model.dataflow.graph import Dataflow, Vertex
from workloads.model.dataflow.operators import (
    FlowOperator,
    OpKeyedOrdered,
    OpKeyedUnordered,
    OpStateless,
)
from workloads.model.dataflow.types import TraceType
from workloads.model.errors import ProgramError
from workloads.model.piperun import narrowed
from workloads.model.program import Record
from workloads.model.records import RecordType, record_type

Item = tuple[int, Any]
"""A key, and a value: a named tuple of the fields of the type, `ts` first."""

Take = Callable[[int, Any], None]
"""Takes an item that leaves a vertex."""

MOST_MARKERS = 1 << 30
"""Most markers of an input: more are a period in the wrong unit of time."""


class Marker(NamedTuple):
    """A synchronization marker, as functions see it."""

    ts: int


class VertexRun:
    """A vertex that is running: give it items and markers.

    Attributes:
        give: takes what leaves it; set by whoever runs it.
    """

    def __init__(self, vertex: Vertex, give: Take) -> None:
        """Start without state."""
        self.vertex = vertex
        self.give = give

    def item(self, key: int, value: Any) -> None:
        """Take an item."""
        self.give(key, value)

    def marker(self, m: Marker) -> None:
        """Take a marker; what it gives rise to leaves before this returns."""


def start(vertex: Vertex, give: Take) -> VertexRun:
    """Return a vertex without state; a source gives what it is given."""
    if vertex.is_sort:
        return _SortRun(vertex, give)
    if isinstance(vertex.operator, OpStateless):
        return _StatelessRun(vertex, vertex.operator, give)
    if isinstance(vertex.operator, OpKeyedOrdered):
        return _OrderedRun(vertex, vertex.operator, give)
    if isinstance(vertex.operator, OpKeyedUnordered):
        return _UnorderedRun(vertex, vertex.operator, give)
    return VertexRun(vertex, give)


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
        self._runs = [start(vertex, _lost) for vertex in flow.vertices]
        for index, run in enumerate(self._runs):
            run.give = _to_all([self._runs[i].item for i in flow.readers(index)])
        self._runs[-1].give = _as_rows(flow.vertices[-1].type, emit)
        self._sources = [
            (self._runs[index], _value_of(flow.vertices[index].type)) for index in flow.sources
        ]

    def process(self, event: Any) -> None:
        """Take an event (`ts`, `kind`, and the fields of all sources), and the markers before it.

        Raises:
            ProgramError: an operator gave what its type does not hold.
        """
        self._pass_time(event.ts)
        run, value_of = self._sources[event.kind]
        run.item(0, value_of(event))

    def finish(self, until_ts: int | None) -> None:
        """Take the markers up to the last instant before `until_ts`; None: there are none."""
        if until_ts is not None and self._next is not None:
            self._pass_time(until_ts - 1)

    def mark(self, ts: int) -> None:
        """Pass a marker through the graph."""
        m = Marker(ts)
        for run in self._runs:
            run.marker(m)

    def _pass_time(self, ts: int) -> None:
        if self._next is None:
            self._next = first_marker(ts, self._period)
        if (ts - self._next) // self._period > MOST_MARKERS:
            raise ProgramError(
                f"{(ts - self._next) // self._period:,} markers up to time {ts}, one every "
                f"{self._period}: give markers a longer period"
            )
        while self._next <= ts:
            self.mark(self._next)
            self._next += self._period


def first_marker(ts: int, period: int) -> int:
    """Return the time of the first marker of an input whose first event has time `ts`."""
    return (ts // period + 1) * period


class _Out:
    """The `out` of an operator: checks what is given, and hands it on."""

    __slots__ = ("emit", "key", "left")

    def __init__(self, run: VertexRun, operator: FlowOperator) -> None:
        given, name = operator.gives, operator.name
        wanted = given.fields if given.key is None else (given.key, *given.fields)
        make = record_type(given.fields[1:])._make
        columns = [(field, given.value[field].type) for field in given.fields]
        keeps = isinstance(operator, OpKeyedOrdered)
        self.left = 0
        self.key = 0

        def emit(*fields: Any) -> None:
            if len(fields) != len(wanted):
                raise ProgramError(
                    f"operator {name}: out.emit got {len(fields)} values {fields}; it takes "
                    f"{len(wanted)}: {', '.join(wanted)}"
                )
            self.left -= 1
            if self.left < 0:
                raise ProgramError(
                    f"operator {name} gives more than {operator.max_outputs} pairs in one call; "
                    "raise its max_outputs"
                )
            key = 0
            if given.key is not None:
                key, fields = _held(name, given.key, np.int64, fields[0]), fields[1:]
                if keeps and key != self.key:
                    raise ProgramError(
                        f"operator {name} is at {given.key} {self.key} and gives an item of {key}; "
                        "an OpKeyedOrdered keeps keys, only an OpStateless changes them"
                    )
            values = [
                _held(name, field, of, value)
                for (field, of), value in zip(columns, fields, strict=True)
            ]
            run.give(key, make(values))

        self.emit = emit

    def open(self, operator: FlowOperator, key: int) -> "_Out":
        """Return itself, for one more call of one of the operator's functions."""
        self.left = operator.max_outputs
        self.key = key
        return self


def _held(name: str, field: str, of: type[np.generic], value: Any) -> Any:
    """Return a value as a column holds it; a column of integers holds no fraction."""
    if isinstance(value, float) and not value.is_integer() and issubclass(of, np.integer):
        raise ProgramError(
            f"operator {name}: {value!r} does not fit field {field} of what it gives, of type "
            f"{of.__name__}: round it, or give the field a type that has it"
        )
    try:
        return narrowed(of, value)
    except (OverflowError, ValueError, TypeError) as error:
        raise ProgramError(
            f"operator {name}: {value!r} does not fit field {field} of what it gives, of type "
            f"{of.__name__}: {error}"
        ) from error


def _filled(of: RecordType, fill: Callable[[Record], None] | None) -> Record:
    record = of.zeroed()
    if fill is not None:
        fill(record)
    return record


class _StatelessRun(VertexRun):
    def __init__(self, vertex: Vertex, operator: OpStateless, give: Take) -> None:
        super().__init__(vertex, give)
        self._operator = operator
        self._out = _Out(self, operator)

    def item(self, key: int, value: Any) -> None:
        self._operator.on_item(key, value, self._out.open(self._operator, key))

    def marker(self, m: Marker) -> None:
        if self._operator.on_marker is not None:
            self._operator.on_marker(m, self._out.open(self._operator, 0))


class _OrderedRun(VertexRun):
    def __init__(self, vertex: Vertex, operator: OpKeyedOrdered, give: Take) -> None:
        super().__init__(vertex, give)
        self._operator = operator
        self._out = _Out(self, operator)
        self._type = RecordType(f"state of {vertex.name}", operator.state)
        self._states: dict[int, Record] = {}

    def item(self, key: int, value: Any) -> None:
        operator = self._operator
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _filled(self._type, operator.initial_state)
        operator.on_item(state, key, value, self._out.open(operator, key))

    def marker(self, m: Marker) -> None:
        operator = self._operator
        if operator.on_marker is not None:
            for key, state in self._states.items():
                operator.on_marker(state, key, m, self._out.open(operator, key))


class _UnorderedRun(VertexRun):
    """Table 3 of the paper."""

    def __init__(self, vertex: Vertex, operator: OpKeyedUnordered, give: Take) -> None:
        super().__init__(vertex, give)
        self._operator = operator
        self._out = _Out(self, operator)
        self._state = RecordType(f"state of {vertex.name}", operator.state)
        self._aggregate = RecordType(f"aggregate of {vertex.name}", operator.aggregate)
        self._start = _filled(self._state, operator.initial_state)
        self._entries: dict[int, _Entry] = {}

    def item(self, key: int, value: Any) -> None:
        operator = self._operator
        entry = self._entries.get(key)
        if entry is None:
            entry = _Entry(self._identity(), self._state.copy(self._start))
            self._entries[key] = entry
        if operator.on_item is not None:
            operator.on_item(entry.state, key, value, self._out.open(operator, key))
        taken, both = self._aggregate.zeroed(), self._aggregate.zeroed()
        operator.take(taken, key, value)
        operator.combine(entry.aggregate, taken, both)
        entry.aggregate = both

    def marker(self, m: Marker) -> None:
        operator = self._operator
        for key, entry in self._entries.items():
            operator.update_state(entry.state, entry.aggregate)
            entry.aggregate = self._identity()
            if operator.on_marker is not None:
                operator.on_marker(entry.state, key, m, self._out.open(operator, key))
        # What a key that comes later begins with: it has had empty blocks so far.
        operator.update_state(self._start, self._identity())

    def _identity(self) -> Record:
        return _filled(self._aggregate, self._operator.identity)


@dataclass(slots=True)
class _Entry:
    """What is known of a key: of the block so far, and of those before."""

    aggregate: Record
    state: Record


class _SortRun(VertexRun):
    def __init__(self, vertex: Vertex, give: Take) -> None:
        super().__init__(vertex, give)
        self._block: list[Item] = []

    def item(self, key: int, value: Any) -> None:
        self._block.append((key, value))

    def marker(self, m: Marker) -> None:
        block, self._block = self._block, []
        for key, value in sorted(block):
            self.give(key, value)


def _lost(key: int, value: Any) -> None:
    """Take what leaves a vertex before it is told where that goes."""


def _to_all(readers: list[Take]) -> Take:
    if len(readers) == 1:
        return readers[0]

    def give(key: int, value: Any) -> None:
        for take in readers:
            take(key, value)

    return give


def _as_rows(of: TraceType, emit: Callable[[tuple[Any, ...]], None]) -> Take:
    """Return what makes records of the items that leave the graph."""
    if of.key is None:
        return lambda _, value: emit(tuple(value))
    return lambda key, value: emit((value[0], key, *value[1:]))


def _value_of(of: TraceType) -> Callable[[Any], Any]:
    """Return what makes a source's value of an event, which has the fields of all sources."""
    make = record_type(of.fields[1:])._make
    pick = attrgetter(*of.fields)
    return (lambda event: make((pick(event),))) if len(of.fields) == 1 else lambda e: make(pick(e))
