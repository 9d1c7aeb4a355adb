"""Wraps the functions of vertices to check at each call that they obey their template's laws."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from streamlab.workloads.model.dataflow.operators import Function, OpKeyedOrdered, OpKeyedUnordered
from streamlab.workloads.model.dataflow.program import Vertex
from streamlab.workloads.model.dataflow.traces import near
from streamlab.workloads.model.dgs.laws import BrokenLawError
from streamlab.workloads.model.streams.records import RecordType


@dataclass(frozen=True, slots=True)
class _Arguments:
    """Describes the arguments of a function.

    Attributes:
        names: All names, as in the template.
        reads: The records that it may only read.
        changes: The records that it changes or fills.
    """

    names: tuple[str, ...]
    reads: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


_ITEM = ("s", "key", "value", "out")
_MARKER = ("s", "key", "m", "out")

_STATELESS = {
    "on_item": _Arguments(("key", "value", "out")),
    "on_marker": _Arguments(("m", "out")),
}
_ORDERED = {
    "initial_state": _Arguments(("s",), changes=("s",)),
    "on_item": _Arguments(_ITEM, changes=("s",)),
    "on_marker": _Arguments(_MARKER, changes=("s",)),
}
_UNORDERED = {
    "take": _Arguments(("a", "key", "value"), changes=("a",)),
    "identity": _Arguments(("a",), changes=("a",)),
    "combine": _Arguments(("x", "y", "into"), reads=("x", "y"), changes=("into",)),
    "initial_state": _Arguments(("s",), changes=("s",)),
    "update_state": _Arguments(("s", "agg"), reads=("agg",), changes=("s",)),
    "on_item": _Arguments(_ITEM, reads=("s",)),
    "on_marker": _Arguments(_MARKER, reads=("s",)),
}


def check_purity(vertex: Vertex) -> Vertex:
    """Return the vertex with functions that raise BrokenLawError if they are not pure.

    A function is not pure if it changes a record that it may only read, or if a second call with the
    same arguments has another result.
    """
    operator = vertex.operator
    assert operator is not None, "sources and SORT have no functions"
    records: dict[str, RecordType] = {}
    roles = _STATELESS
    if isinstance(operator, OpKeyedOrdered | OpKeyedUnordered):
        records["s"] = RecordType("state", operator.state)
        roles = _ORDERED
    if isinstance(operator, OpKeyedUnordered):
        aggregate = RecordType("aggregate", operator.aggregate)
        records |= dict.fromkeys(("a", "x", "y", "into", "agg"), aggregate)
        roles = _UNORDERED
    wrapped: dict[str, Any] = {
        role: _checked_function(role, function, roles[role], records)
        for role, function in operator.functions.items()
    }
    return replace(vertex, operator=replace(operator, **wrapped))


def _checked_function(
    role: str, function: Function, arguments: _Arguments, records: dict[str, RecordType]
) -> Function:
    """Return the function with a check of its purity at each call, see `check_purity`."""

    def call(*values: Any) -> None:
        named = dict(zip(arguments.names, values, strict=True))
        before = _copies(named, arguments, records)
        emitted: list[tuple[Any, ...]] = []
        _call(function, named, emitted)
        for name in arguments.reads:
            if not _same(records[name], before[name], named[name]):
                lines = _lines(role, before, records)
                lines.append(f"  {name} afterwards: {records[name].words(named[name])}")
                raise BrokenLawError(f"{role} changes {name}, which it may only read", tuple(lines))
        repeated_call = _copies(before, arguments, records)
        repeated_emits: list[tuple[Any, ...]] = []
        _call(function, repeated_call, repeated_emits)
        same = all(
            _same(records[name], named[name], repeated_call[name]) for name in arguments.changes
        )
        if not same or not near(tuple(emitted), tuple(repeated_emits)):
            lines = _lines(role, before, records)
            lines += _outcome("first", arguments, named, emitted, records)
            lines += _outcome("again", arguments, repeated_call, repeated_emits, records)
            raise BrokenLawError(
                f"{role} does something else when it is called again with the same arguments",
                tuple(lines),
            )
        for fields in emitted:
            named["out"].emit(*fields)

    return call


def check_keys(vertex: Vertex) -> Vertex:
    """Return the vertex with functions that raise BrokenLawError if they emit another key than their own."""
    operator = vertex.operator
    assert isinstance(operator, OpKeyedOrdered), "other templates may change keys"
    wrapped: dict[str, Any] = {
        role: _key_checked(role, function, str(operator.reads.key))
        for role, function in operator.functions.items()
        if role != "initial_state"
    }
    return replace(vertex, operator=replace(operator, **wrapped))


def _key_checked(role: str, function: Function, name: str) -> Function:
    """Return the function with a check of the emitted keys; `name` is the key's name for messages."""

    def call(s: Any, key: int, element: Any, out: Any) -> None:
        def emit(emitted_key: Any, *fields: Any) -> None:
            if emitted_key != key:
                lines = (
                    f"{role} at {name} {key}, {element}",
                    f"  emits an item of {name} {emitted_key}: {fields}",
                    "only an OpStateless changes keys; SORT after it restores their order",
                )
                raise BrokenLawError("an OpKeyedOrdered emits an item of another key", lines)
            out.emit(emitted_key, *fields)

        function(s, key, element, _Out(emit))

    return call


@dataclass(frozen=True, slots=True)
class _Out:
    """Implements `out` of a function."""

    emit: Callable[..., None]


def _call(function: Function, named: dict[str, object], emitted: list[tuple[Any, ...]]) -> None:
    """Call a function, and append the pairs that it emits to `emitted`."""
    out = _Out(lambda *fields: emitted.append(fields))
    function(*(out if name == "out" else value for name, value in named.items()))


def _copies(
    named: dict[str, object], arguments: _Arguments, records: dict[str, RecordType]
) -> dict[str, object]:
    copied = (*arguments.reads, *arguments.changes)
    return {
        name: records[name].copy(value) if name in copied else value
        for name, value in named.items()
    }


def _same(record: RecordType, a: Any, b: Any) -> bool:
    return near(record.values(a), record.values(b))


def _lines(role: str, named: dict[str, object], records: dict[str, RecordType]) -> list[str]:
    lines = [f"{role}({', '.join(named)}) with"]
    for name, value in named.items():
        if name in records:
            lines.append(f"  {name}: {records[name].words(value)}")
        elif name != "out":
            lines.append(f"  {name}: {value}")
    return lines


def _outcome(
    label: str,
    arguments: _Arguments,
    named: dict[str, object],
    emitted: list[tuple[Any, ...]],
    records: dict[str, RecordType],
) -> list[str]:
    words = [f"{name} is {records[name].words(named[name])}" for name in arguments.changes]
    words += [f"emits {fields}" for fields in emitted]
    return [f"  {label}: {'; '.join(words) or 'nothing'}"]
