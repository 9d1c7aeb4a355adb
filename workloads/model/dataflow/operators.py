"""The operator templates: what a vertex of a typed dataflow graph may be.

Source: Data-Trace Types, tables 1 to 3. Functions are plain Python over records, as in the other
models: records start zeroed and are changed in place, and a function changes nothing but the
records that it is given to fill. Where the paper's functions return a state or an aggregate, these
fill or change the one that they are given.

`out.emit(key, ts, *fields)` gives a pair of the operator's output type; where that has the unit
type of keys, `out.emit(ts, *fields)`. An item's `key` is 0 where keys are of the unit type; `value`
has the fields of the input type. A marker `m` has `m.ts`.
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
    name: str
    reads: TraceType
    gives: TraceType
    max_outputs: int = 1

    @property
    def functions(self) -> dict[str, Function]:
        """The functions that it has, by their roles."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        return {role: part for role, part in parts.items() if callable(part)}

    def _check(self, **functions: tuple[Function | None, str]) -> None:
        """Check the name, the number of outputs, and functions: each with what it is to take."""
        if not isinstance(self.name, str) or not self.name:
            raise ProgramError(f"an operator has the name {self.name!r}; give it one for messages")
        where = f"operator {self.name}"
        require_plain(where, **{role: function for role, (function, _) in functions.items()})
        for role, (function, wanted) in functions.items():
            if function is not None:
                _require_parameters(where, role, function, wanted)
        if type(self.max_outputs) is not int or self.max_outputs < 1:
            raise ProgramError(
                f"{where}: max_outputs is {self.max_outputs!r}; wanted a whole number, at least 1"
            )

    def _want(self, role: str, given: TraceType, *, ordered: bool) -> None:
        if not isinstance(given, TraceType):
            raise ProgramError(
                f"operator {self.name}: {role} is {given!r:.60}; wanted U(key, value) or "
                "O(key, value)"
            )
        if given.ordered == ordered:
            return
        remedy = f"Declare it {TraceType(ordered, given.key, given.value)}"
        if role == "reads":
            remedy += ", and put SORT before it" if ordered else "; an O may be read as a U"
        raise ProgramError(
            f"operator {self.name}: an {type(self).__name__} {role} {'O' if ordered else 'U'}"
            f"(K, V), not {given}. {remedy}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpStateless(_Template):
    """U(K, V) -> U(L, W): what is given for an item or a marker depends on that alone.

    Attributes:
        name: how messages call it.
        reads, gives: the types of its input and output.
        max_outputs: most pairs that one call of a function gives.
        on_item: `on_item(key, value, out)`.
        on_marker: `on_marker(m, out)`; None: nothing. It is called once for a marker, however many
            instances there are.
    """

    on_item: Function
    on_marker: Function | None = None

    def __post_init__(self) -> None:
        self._check(on_item=(self.on_item, "key, value, out"), on_marker=(self.on_marker, "m, out"))
        self._want("reads", self.reads, ordered=False)
        self._want("gives", self.gives, ordered=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpKeyedOrdered(_Template):
    """O(K, V) -> O(K, W): a state for each key, which sees the key's items in order.

    What it gives has the key of the item or state at hand.

    Attributes:
        name, reads, gives, max_outputs: see `OpStateless`.
        state: structured dtype of a key's state.
        initial_state: `initial_state(s)`; None: zeroed.
        on_item: `on_item(s, key, value, out)`; changes `s`.
        on_marker: `on_marker(s, key, m, out)`, for each key that has been seen; changes `s`. None:
            nothing.
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
        self._want("reads", self.reads, ordered=True)
        self._want("gives", self.gives, ordered=True)
        if self.gives.key != self.reads.key:
            raise ProgramError(
                f"operator {self.name}: an OpKeyedOrdered keeps the key of what it reads; it reads "
                f"{self.reads} and gives {self.gives}. Project the key by an OpStateless behind it"
            )
        _require_fields(self.name, "state", self.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpKeyedUnordered(_Template):
    """U(K, V) -> U(L, W): a state for each key, which sees what a whole block adds up to.

    Aggregates are a commutative monoid: `combine` is associative and commutative, `identity` is
    its neutral element. `take`, `combine`, `identity`, `initial_state` and `update_state` emit
    nothing.

    Attributes:
        name, reads, gives, max_outputs: see `OpStateless`.
        aggregate: structured dtype A of aggregates.
        state: structured dtype S of a key's state.
        take: `take(a, key, value)`, the paper's *in*: fills the aggregate of one item.
        identity: `identity(a)`: fills the neutral element; None: zeroed.
        combine: `combine(x, y, into)`: fills `into` from two aggregates.
        initial_state: `initial_state(s)`; None: zeroed.
        update_state: `update_state(s, agg)`: changes the state at a marker, by the block before.
        on_item: `on_item(s, key, value, out)`: `s` is the state of the last marker, and is not
            changed. None: nothing.
        on_marker: `on_marker(s, key, m, out)`: for each key that has been seen, after
            `update_state`; does not change `s`. None: nothing.
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
        self._want("reads", self.reads, ordered=False)
        self._want("gives", self.gives, ordered=False)
        _require_fields(self.name, "state", self.state)
        _require_fields(self.name, "aggregate", self.aggregate)
        if self.on_item is None and self.on_marker is None:
            raise ProgramError(
                f"operator {self.name} gives nothing: it needs an on_item or an on_marker"
            )


FlowOperator = OpStateless | OpKeyedOrdered | OpKeyedUnordered
"""What a vertex may be programmed by."""


def _require_fields(name: str, what: str, dtype: np.dtype[np.void]) -> None:
    if not dtype.names:
        raise ProgramError(f"operator {name}: the {what} dtype {dtype} has no named fields")
    for field in dtype.names:
        if dtype[field].base.kind not in "biuf":
            raise ProgramError(
                f"operator {name}: field {field} of the {what} is of type {dtype[field]}; wanted "
                "an integer, a floating-point number or a boolean, or an array of those"
            )


def _require_parameters(where: str, role: str, function: Function, wanted: str) -> None:
    """Check that a function can be called as its template calls it."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # some callables do not say; the first call does
    try:
        signature.bind(*wanted.split(", "))
    except TypeError:
        taken = ", ".join(signature.parameters)
        raise ProgramError(
            f"{where}: {role} takes ({taken}); wanted {role}({wanted}). Records are filled or "
            "changed in place, and pairs are given by out.emit(...)"
        ) from None
