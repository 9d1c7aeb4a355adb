"""Interprets the vertices of dataflow graphs one item at a time, in plain Python: what they mean.

Every vertex is a data-string transduction: it is given items and markers one after another, and
gives items at once (Data-Trace Types, section 3.2 and table 3). What a vertex gives at a marker
leaves it before the marker does.
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
from streamlab.workloads.model.pipeline.reference import narrowed
from streamlab.workloads.model.streams.records import RecordType, record_type

Item = tuple[int, Any]
"""A key, and a value: a named tuple of the fields of the type, `ts` first."""

Take = Callable[[int, Any], None]
"""Takes an item that leaves a vertex."""


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

    def held(self) -> Any:
        """Return what is held between two items, for `hold` of another run; can be pickled."""

    def hold(self, held: Any) -> None:
        """Go on where another run of this vertex was."""


def start(vertex: Vertex, give: Take) -> VertexRun:
    """Return a vertex without state; a source gives what it is given."""
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


def filled(of: RecordType, fill: Callable[[Record], None] | None) -> Record:
    """Return a new record, filled by a function of the program; None: zeroed."""
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
            state = self._states[key] = filled(self._type, operator.initial_state)
        operator.on_item(state, key, value, self._out.open(operator, key))

    def marker(self, m: Marker) -> None:
        operator = self._operator
        if operator.on_marker is not None:
            for key, state in self._states.items():
                operator.on_marker(state, key, m, self._out.open(operator, key))

    def held(self) -> Any:
        return self._states

    def hold(self, held: Any) -> None:
        self._states = held


class UnorderedRun(VertexRun):
    """An OpKeyedUnordered that is running: table 3 of the paper."""

    def __init__(self, vertex: Vertex, operator: OpKeyedUnordered, give: Take) -> None:
        super().__init__(vertex, give)
        self._operator = operator
        self._out = _Out(self, operator)
        self._state = RecordType(f"state of {vertex.name}", operator.state)
        self._aggregate = RecordType(f"aggregate of {vertex.name}", operator.aggregate)
        self._start = filled(self._state, operator.initial_state)
        self._entries: dict[int, _Entry] = {}

    def item(self, key: int, value: Any) -> None:
        """Take an item."""
        operator = self._operator
        if operator.on_item is not None:
            state = self._entry(key).state
            operator.on_item(state, key, value, self._out.open(operator, key))
        taken = self._aggregate.zeroed()
        operator.take(taken, key, value)
        self.add(key, taken)

    def add(self, key: int, aggregate: Record) -> None:
        """Add to what is known of a key's block."""
        entry, both = self._entry(key), self._aggregate.zeroed()
        self._operator.combine(entry.aggregate, aggregate, both)
        entry.aggregate = both

    def marker(self, m: Marker) -> None:
        """Take a marker: update the states by their blocks, and give what follows."""
        operator = self._operator
        for key, entry in self._entries.items():
            operator.update_state(entry.state, entry.aggregate)
            entry.aggregate = self._identity()
            if operator.on_marker is not None:
                operator.on_marker(entry.state, key, m, self._out.open(operator, key))
        # What a key that comes later begins with: it has had empty blocks so far.
        operator.update_state(self._start, self._identity())

    def _entry(self, key: int) -> "_Entry":
        entry = self._entries.get(key)
        if entry is None:
            entry = _Entry(self._identity(), self._state.copy(self._start))
            self._entries[key] = entry
        return entry

    def held(self) -> Any:
        """See `VertexRun`."""
        return self._start, self._entries

    def hold(self, held: Any) -> None:
        """See `VertexRun`."""
        self._start, self._entries = held

    def _identity(self) -> Record:
        return filled(self._aggregate, self._operator.identity)


@dataclass(slots=True)
class _Entry:
    """What is known of a key: of the block so far, and of those before."""

    aggregate: Record
    state: Record


class _SortRun(VertexRun):
    """Orders a block by key, then by the fields of the value, NaN behind all numbers."""

    def __init__(self, vertex: Vertex, give: Take) -> None:
        super().__init__(vertex, give)
        value = vertex.type.value
        self._make = record_type(vertex.type.fields[1:])._make
        floats = any(value[name].kind == "f" for name in vertex.type.fields)
        self._by = by_numbers if floats else None
        self._block: list[Item] = []

    def item(self, key: int, value: Any) -> None:
        self._block.append((key, value))

    def marker(self, m: Marker) -> None:
        block, self._block = self._block, []
        for key, value in sorted(block, key=self._by):
            self.give(key, value)

    def held(self) -> Any:
        return [(key, tuple(value)) for key, value in self._block]

    def hold(self, held: Any) -> None:
        self._block = [(key, self._make(value)) for key, value in held]


def by_numbers(item: Item) -> tuple[Any, ...]:
    """Return what items are sorted by: comparing NaN itself would give no order."""
    key, value = item
    return key, *((math.isnan(field), 0 if math.isnan(field) else field) for field in value)
