"""Interprets the vertices of dataflow graphs one item at a time, in plain Python.

This defines their meaning. Every vertex is a data-string transduction: it takes items and markers one
after another, and emits items at once (Data-Trace Types, section 3.2 and table 3). Items emitted at a
marker leave before the marker.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from streamlab.workloads.model.dataflow.operators import (
    FlowOperator,
    OpKeyedOrdered,
    OpKeyedUnordered,
    OpStateless,
)
from streamlab.workloads.model.dataflow.program import Vertex
from streamlab.workloads.model.dgs.program import Record
from streamlab.workloads.model.errors import ProgramError
from streamlab.workloads.model.pipeline.reference import narrow
from streamlab.workloads.model.streams.records import RecordType, record_type

Item = tuple[int, Any]
"""A key and a value: a named tuple of the fields of the type, `ts` first."""

Take = Callable[[int, Any], None]
"""Takes an item that leaves a vertex."""


class Marker(NamedTuple):
    """Holds the time of a synchronization marker, as functions see it."""

    ts: int


class VertexRun:
    """Runs a vertex on items and markers.

    Attributes:
        give: Takes the items that leave the vertex; the caller may replace it.
    """

    def __init__(self, vertex: Vertex, give: Take) -> None:
        """Start without state."""
        self.vertex = vertex
        self.give = give

    def item(self, key: int, value: Any) -> None:
        """Process an item."""
        self.give(key, value)

    def marker(self, m: Marker) -> None:
        """Process a marker; the outputs that it causes leave before this returns."""

    def state(self) -> Any:
        """Return the state between two items, for `restore` of another run; it can be pickled."""

    def restore(self, saved: Any) -> None:
        """Continue from the state of another run of this vertex."""


def start(vertex: Vertex, give: Take) -> VertexRun:
    """Return a run of a vertex without state; a source forwards its items."""
    if vertex.is_sort:
        return _SortRun(vertex, give)
    if isinstance(vertex.operator, OpStateless):
        return _StatelessRun(vertex, vertex.operator, give)
    if isinstance(vertex.operator, OpKeyedOrdered):
        return _OrderedRun(vertex, vertex.operator, give)
    if isinstance(vertex.operator, OpKeyedUnordered):
        return UnorderedRun(vertex, vertex.operator, give)
    return VertexRun(vertex, give)


class _Out:
    """Checks the pairs that an operator emits by `out`, and passes them on."""

    __slots__ = ("emit", "key", "remaining")

    def __init__(self, run: VertexRun, operator: FlowOperator) -> None:
        link, name = operator.gives, operator.name
        expected = link.fields if link.key is None else (link.key, *link.fields)
        make = record_type(link.fields[1:])._make
        columns = [(field, link.value[field].type) for field in link.fields]
        keeps_key = isinstance(operator, OpKeyedOrdered)
        self.remaining = 0
        self.key = 0

        def emit(*fields: Any) -> None:
            if len(fields) != len(expected):
                raise ProgramError(
                    f"operator {name}: out.emit got {len(fields)} values {fields}; it takes "
                    f"{len(expected)}: {', '.join(expected)}"
                )
            self.remaining -= 1
            if self.remaining < 0:
                raise ProgramError(
                    f"operator {name} emits more than {operator.max_outputs} pairs in one call; "
                    "raise its max_outputs"
                )
            key = 0
            if link.key is not None:
                key, fields = _fit(name, link.key, np.int64, fields[0]), fields[1:]
                if keeps_key and key != self.key:
                    raise ProgramError(
                        f"operator {name} is at {link.key} {self.key} and emits an item of {key}; "
                        "an OpKeyedOrdered keeps keys, only an OpStateless changes them"
                    )
            values = [
                _fit(name, field, kind, value)
                for (field, kind), value in zip(columns, fields, strict=True)
            ]
            run.give(key, make(values))

        self.emit = emit

    def open(self, operator: FlowOperator, key: int) -> "_Out":
        """Return itself, reset for another call of an operator's function."""
        self.remaining = operator.max_outputs
        self.key = key
        return self


def _fit(name: str, field: str, kind: type[np.generic], value: Any) -> Any:
    """Return a value as an output column of type `kind` holds it."""
    if isinstance(value, float) and not value.is_integer() and issubclass(kind, np.integer):
        raise ProgramError(
            f"operator {name}: {value!r} does not fit output field {field} of type "
            f"{kind.__name__}: round it, or change the type of the field"
        )
    try:
        return narrow(kind, value)
    except (OverflowError, ValueError, TypeError) as error:
        raise ProgramError(
            f"operator {name}: {value!r} does not fit output field {field} of type "
            f"{kind.__name__}: {error}"
        ) from error


def new_record(kind: RecordType, fill: Callable[[Record], None] | None) -> Record:
    """Return a new record, filled by a function of the program, or zeroed without one."""
    record = kind.zeroed()
    if fill is not None:
        fill(record)
    return record


class _StatelessRun(VertexRun):
    """Runs an OpStateless."""

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
    """Runs an OpKeyedOrdered, with a state for each key."""

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
            state = self._states[key] = new_record(self._type, operator.initial_state)
        operator.on_item(state, key, value, self._out.open(operator, key))

    def marker(self, m: Marker) -> None:
        operator = self._operator
        if operator.on_marker is not None:
            for key, state in self._states.items():
                operator.on_marker(state, key, m, self._out.open(operator, key))

    def state(self) -> Any:
        return self._states

    def restore(self, saved: Any) -> None:
        self._states = saved


class UnorderedRun(VertexRun):
    """Runs an OpKeyedUnordered (table 3 of the paper)."""

    def __init__(self, vertex: Vertex, operator: OpKeyedUnordered, give: Take) -> None:
        super().__init__(vertex, give)
        self._operator = operator
        self._out = _Out(self, operator)
        self._state = RecordType(f"state of {vertex.name}", operator.state)
        self._aggregate = RecordType(f"aggregate of {vertex.name}", operator.aggregate)
        self._start = new_record(self._state, operator.initial_state)
        self._entries: dict[int, _Entry] = {}

    def item(self, key: int, value: Any) -> None:
        """Process an item."""
        operator = self._operator
        if operator.on_item is not None:
            state = self._entry(key).state
            operator.on_item(state, key, value, self._out.open(operator, key))
        aggregate = self._aggregate.zeroed()
        operator.take(aggregate, key, value)
        self.add(key, aggregate)

    def add(self, key: int, aggregate: Record) -> None:
        """Add an aggregate to the aggregate of a key's block."""
        entry, both = self._entry(key), self._aggregate.zeroed()
        self._operator.combine(entry.aggregate, aggregate, both)
        entry.aggregate = both

    def marker(self, m: Marker) -> None:
        """Process a marker: update the states by their blocks, and emit the outputs of the marker."""
        operator = self._operator
        for key, entry in self._entries.items():
            operator.update_state(entry.state, entry.aggregate)
            entry.aggregate = self._identity()
            if operator.on_marker is not None:
                operator.on_marker(entry.state, key, m, self._out.open(operator, key))
        # Keys that come later start with this state: all their blocks so far were empty.
        operator.update_state(self._start, self._identity())

    def _entry(self, key: int) -> "_Entry":
        entry = self._entries.get(key)
        if entry is None:
            entry = _Entry(self._identity(), self._state.copy(self._start))
            self._entries[key] = entry
        return entry

    def state(self) -> Any:
        """See `VertexRun`."""
        return self._start, self._entries

    def restore(self, saved: Any) -> None:
        """See `VertexRun`."""
        self._start, self._entries = saved

    def _identity(self) -> Record:
        return new_record(self._aggregate, self._operator.identity)


@dataclass(slots=True)
class _Entry:
    """Holds a key's aggregate of the current block, and its state from earlier blocks."""

    aggregate: Record
    state: Record


class _SortRun(VertexRun):
    """Sorts a block by key, then by the fields of the value in the vertex's order, NaN after all numbers."""

    def __init__(self, vertex: Vertex, give: Take) -> None:
        super().__init__(vertex, give)
        value = vertex.type.value
        self._make = record_type(vertex.type.fields[1:])._make
        floats = any(value[name].kind == "f" for name in vertex.type.fields)
        order = [(vertex.type.fields.index(name), descending) for name, descending in vertex.order]
        self._sort_key = _make_sort_key(order) if floats or vertex.by else None
        self._block: list[Item] = []

    def item(self, key: int, value: Any) -> None:
        self._block.append((key, value))

    def marker(self, m: Marker) -> None:
        block, self._block = self._block, []
        for key, value in sorted(block, key=self._sort_key):
            self.give(key, value)

    def state(self) -> Any:
        return [(key, tuple(value)) for key, value in self._block]

    def restore(self, saved: Any) -> None:
        self._block = [(key, self._make(value)) for key, value in saved]


def _make_sort_key(indices: list[tuple[int, bool]]) -> Callable[[Item], tuple[Any, ...]]:
    """Return a sort key of items by key, then by the fields at some indices, each descending or not."""

    def sort_key(item: Item) -> tuple[Any, ...]:
        key, value = item
        fields = [-value[index] if descending else value[index] for index, descending in indices]
        return by_numbers((key, fields))

    return sort_key


def by_numbers(item: Item) -> tuple[Any, ...]:
    """Return the sort key of an item, which makes NaN comparable."""
    key, value = item
    return key, *((math.isnan(field), 0 if math.isnan(field) else field) for field in value)
