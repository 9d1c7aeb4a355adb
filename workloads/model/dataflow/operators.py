"""Defines the operator templates for the vertices of typed dataflow graphs.

Source: Data-Trace Types, tables 1 to 3. `types` defines the types U(K, V) and O(K, V) of edges. Functions
are plain Python over records, as in the other models. Records start zeroed, and a function changes only
the records that its template lets it fill or change. Where the paper's functions return a state or an
aggregate, functions here change an argument in place.

`out.emit(key, ts, *fields)` emits a pair of the operator's output type; with the unit type of keys,
`out.emit(ts, *fields)`. An item's `key` is 0 for the unit type; `value` has the fields of the input
type. A marker `m` has `m.ts`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from streamlab.workloads.model.code.functions import require_plain
from streamlab.workloads.model.dataflow.types import TraceType
from streamlab.workloads.model.errors import ProgramError

Function = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Template:
    """Holds the attributes that all templates have, and checks them."""

    name: str
    reads: TraceType
    gives: TraceType
    max_outputs: int = 1

    @property
    def functions(self) -> dict[str, Function]:
        """The operator's functions, by role."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        return {role: part for role, part in parts.items() if callable(part)}

    def _check(self, **functions: tuple[Function | None, str]) -> None:
        """Check the name, the number of outputs, and each function against its parameters."""
        if not isinstance(self.name, str) or not self.name:
            raise ProgramError(
                f"an operator has the name {self.name!r}; expected a non-empty string"
            )
        where = f"operator {self.name}"
        require_plain(where, **{role: function for role, (function, _) in functions.items()})
        for role, (function, parameters) in functions.items():
            if function is not None:
                _require_parameters(where, role, function, parameters)
        if type(self.max_outputs) is not int or self.max_outputs < 1:
            raise ProgramError(
                f"{where}: max_outputs is {self.max_outputs!r}; expected an integer of at least 1"
            )

    def _require_type(self, role: str, link: TraceType, *, ordered: bool) -> None:
        if not isinstance(link, TraceType):
            raise ProgramError(
                f"operator {self.name}: {role} is {link!r:.60}; expected U(key, value) or "
                "O(key, value)"
            )
        if link.ordered == ordered:
            return
        remedy = f"Declare it {TraceType(ordered, link.key, link.value)}"
        if role == "reads":
            remedy += ", and put SORT before it" if ordered else "; an O may be read as a U"
        raise ProgramError(
            f"operator {self.name}: an {type(self).__name__} {role} {'O' if ordered else 'U'}"
            f"(K, V), not {link}. {remedy}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpStateless(_Template):
    """Maps U(K, V) to U(L, W); the output for an item or a marker depends on no other element.

    Attributes:
        name: Name for messages.
        reads, gives: The types of its input and output.
        max_outputs: Largest number of pairs that one call of a function emits.
        on_item: `on_item(key, value, out)`.
        on_marker: `on_marker(m, out)`, called once per marker for any number of instances. None emits
            nothing.
    """

    on_item: Function
    on_marker: Function | None = None

    def __post_init__(self) -> None:
        self._check(on_item=(self.on_item, "key, value, out"), on_marker=(self.on_marker, "m, out"))
        self._require_type("reads", self.reads, ordered=False)
        self._require_type("gives", self.gives, ordered=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpKeyedOrdered(_Template):
    """Maps O(K, V) to O(K, W); each key has a state, which the key's items update in order.

    Its functions emit only items of the key with which they are called.

    Attributes:
        name, reads, gives, max_outputs: See `OpStateless`.
        state: Structured dtype of a key's state.
        initial_state: `initial_state(s)`; None leaves it zeroed.
        on_item: `on_item(s, key, value, out)`; changes `s`.
        on_marker: `on_marker(s, key, m, out)`, called for each key with earlier items; changes `s`. None
            does nothing.
    """

    state: np.dtype[np.void]
    initial_state: Function | None = None
    on_item: Function
    on_marker: Function | None = None

    def __post_init__(self) -> None:
        self._check(
            on_item=(self.on_item, "s, key, value, out"),
            on_marker=(self.on_marker, "s, key, m, out"),
            initial_state=(self.initial_state, "s"),
        )
        self._require_type("reads", self.reads, ordered=True)
        self._require_type("gives", self.gives, ordered=True)
        if self.gives.key != self.reads.key:
            raise ProgramError(
                f"operator {self.name}: an OpKeyedOrdered keeps the key of its input; it reads "
                f"{self.reads} and gives {self.gives}. Change the key in an OpStateless after it"
            )
        _require_fields(self.name, "state", self.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpKeyedUnordered(_Template):
    """Maps U(K, V) to U(L, W); each key has a state, which the aggregate of each block updates at its marker.

    Aggregates are a commutative monoid: `combine` is associative and commutative, `identity` is
    its neutral element. Only `on_item` and `on_marker` emit.

    Attributes:
        name, reads, gives, max_outputs: See `OpStateless`.
        aggregate: Structured dtype A of aggregates.
        state: Structured dtype S of a key's state.
        take: `take(a, key, value)`, the paper's *in*: fills the aggregate of one item.
        identity: `identity(a)`: fills the neutral element; None leaves it zeroed.
        combine: `combine(x, y, into)`: fills `into` from two aggregates.
        initial_state: `initial_state(s)`; None leaves it zeroed.
        update_state: `update_state(s, agg)`: changes the state at a marker, by the block before.
        on_item: `on_item(s, key, value, out)`: `s` is the state of the last marker, and is read-only.
            None does nothing.
        on_marker: `on_marker(s, key, m, out)`, called for each key with earlier items, after
            `update_state`; `s` is read-only. None does nothing.
    """

    aggregate: np.dtype[np.void]
    state: np.dtype[np.void]
    take: Function
    identity: Function | None = None
    combine: Function
    initial_state: Function | None = None
    update_state: Function
    on_item: Function | None = None
    on_marker: Function | None = None

    def __post_init__(self) -> None:
        self._check(
            take=(self.take, "a, key, value"),
            identity=(self.identity, "a"),
            combine=(self.combine, "x, y, into"),
            initial_state=(self.initial_state, "s"),
            update_state=(self.update_state, "s, agg"),
            on_item=(self.on_item, "s, key, value, out"),
            on_marker=(self.on_marker, "s, key, m, out"),
        )
        self._require_type("reads", self.reads, ordered=False)
        self._require_type("gives", self.gives, ordered=False)
        _require_fields(self.name, "state", self.state)
        _require_fields(self.name, "aggregate", self.aggregate)
        if self.on_item is None and self.on_marker is None:
            raise ProgramError(
                f"operator {self.name} emits nothing: it needs an on_item or an on_marker"
            )


FlowOperator = OpStateless | OpKeyedOrdered | OpKeyedUnordered
"""An operator of a vertex."""


def _require_fields(name: str, role: str, dtype: np.dtype[np.void]) -> None:
    if not dtype.names:
        raise ProgramError(f"operator {name}: the {role} dtype {dtype} has no named fields")
    for field in dtype.names:
        if dtype[field].base.kind not in "biuf":
            raise ProgramError(
                f"operator {name}: field {field} of the {role} is of type {dtype[field]}; expected "
                "an integer, a floating-point number or a boolean, or an array of those"
            )


def _require_parameters(where: str, role: str, function: Function, expected: str) -> None:
    """Check that a function can be called as its template calls it."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # some callables have no signature; the first call reports mistakes
    try:
        signature.bind(*expected.split(", "))
    except TypeError:
        actual = ", ".join(signature.parameters)
        raise ProgramError(
            f"{where}: {role} takes ({actual}); expected {role}({expected}). Functions change "
            "records in place and emit pairs by out.emit(...)"
        ) from None
