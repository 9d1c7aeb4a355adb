"""DGS programs: a sequential update, a dependence relation, and fork and join.

Source: Stream Processing with Dependency-Guided Synchronization, Definition 2.1. Functions are
    plain
Python over records with attributes; the reference engine runs them as they are, the multicore
engine compiles them with Numba, so they may use numbers, attributes, nested arrays, loops and
branches, but no Python objects.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlab.workloads.model.code.functions import require_plain
from streamlab.workloads.model.dgs.cross_key_events import Across
from streamlab.workloads.model.errors import ProgramError
from streamlab.workloads.model.streams.tag import Tag

Record = Any
"""A mutable record whose attributes are the fields of a structured dtype."""

UpdateFn = Callable[[Record, Record, Any], None]
"""`update(state, event, out)`: change `state` in place; `out.emit(*fields)` produces one output
record.

`event` has the attributes `ts`, `kind`, `key` and the program's payload fields; a field that the
event's stream does not carry reads as 0.
"""

ForkFn = Callable[[Record, Any, Any, Record, Record], None]
"""`fork(state, pred1, pred2, first, second)`: fill `first` and `second` from `state`.

`pred1[kind]` is true when the first part may be given events of that kind. Both parts start zeroed.
"""

JoinFn = Callable[[Record, Record, Record], None]
"""`join(first, second, state)`: fill `state`, which starts zeroed, from both parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateType:
    """One type of state, with the update defined on it.

    Attributes:
        name: unique within the program.
        dtype: structured dtype of the record (integers, floats, nested arrays of them).
        update: the sequential step on this type.
        kinds: names of the kinds that this type can process (`pred_i`); None means all.
    """

    name: str
    dtype: np.dtype[np.void]
    update: UpdateFn
    kinds: frozenset[str] | None = None

    def __post_init__(self) -> None:
        require_plain(f"state type {self.name}", update=self.update)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkJoin:
    """A fork from `parent` to (`first`, `second`) and the join back, by state type name."""

    parent: str
    first: str
    second: str
    fork: ForkFn
    join: JoinFn

    def __post_init__(self) -> None:
        where = f"fork-join {self.parent} -> ({self.first}, {self.second})"
        require_plain(where, fork=self.fork, join=self.join)


@dataclass(frozen=True, slots=True, kw_only=True)
class DGSProgram:
    """A program with dependency-guided synchronization.

    A *keyed* program describes one key: its state belongs to that key alone, and the whole program
    is the product over all keys (the paper's State_0, a map from keys, whose fork by key is then a
    projection). Its `depends` must be false between different keys; what concerns several keys at
    once is said by `across`.

    Attributes:
        name: how messages call it.
        kinds: names of the event kinds; `event.kind` is an index into them.
        event: structured dtype of the payload (without `ts`, `kind`, `key`).
        output: structured dtype of an output record. Its first field is `ts` (int64), and update
            must emit the timestamp of the event that it handles: outputs that leave an engine in
            several places are put in order by it.
        depends: symmetric relation on tags, but those of `across`.
        states: state types; the first is that of the initial state and can process every kind but
            those of `across`.
        init: fills the zeroed initial state (of the first type).
        parallel: fork-join pairs; may be empty, then only sequential plans are valid.
        keyed: whether the program is a product over keys.
        across: of a keyed program, the kinds that concern many keys.
        max_outputs_per_event: the most records one update may emit.

    Raises:
        ProgramError: a part is missing or inconsistent.
    """

    name: str
    kinds: tuple[str, ...]
    event: np.dtype[np.void]
    output: np.dtype[np.void]
    depends: Callable[[Tag, Tag], bool]
    states: tuple[StateType, ...]
    init: Callable[[Record], None]
    parallel: tuple[ForkJoin, ...] = ()
    keyed: bool = False
    across: tuple[Across, ...] = ()
    max_outputs_per_event: int = 1

    def __post_init__(self) -> None:
        where = f"program {self.name}"
        require_plain(where, depends=self.depends, init=self.init)
        if not self.kinds or not self.states:
            raise ProgramError(f"{where} needs at least one kind and one state type")
        if self.states[0].kinds is not None:
            raise ProgramError(
                f"{where}: the first state type must process every kind (Def. 2.1 (5))"
            )
        names = [state.name for state in self.states]
        if len(set(names)) != len(names):
            raise ProgramError(f"{where}: state types share a name: {names}")
        for state in self.states:
            _require_structured(state.dtype, f"{where}, state type {state.name}")
            unknown = set(state.kinds or ()) - set(self.kinds)
            if unknown:
                raise ProgramError(
                    f"{where}, state type {state.name}: unknown kinds {sorted(unknown)}"
                )
        for pair in self.parallel:
            unknown = {pair.parent, pair.first, pair.second} - set(names)
            if unknown:
                raise ProgramError(f"{where}: fork-join over unknown state types {sorted(unknown)}")
        _require_structured(self.event, f"{where}, event")
        _require_structured(self.output, f"{where}, output")
        if self.output.names is None or self.output.names[0] != "ts":
            raise ProgramError(
                f"{where}: the first output field must be ts, got {self.output.names}"
            )
        reserved = {"ts", "kind", "key"} & set(self.event.names or ())
        if reserved:
            raise ProgramError(f"{where}: payload fields {sorted(reserved)} are reserved names")
        if self.max_outputs_per_event < 0:
            raise ProgramError(f"{where}: max_outputs_per_event is {self.max_outputs_per_event}")
        self._check_across(where)
        self._check_dependence(where)

    def _check_across(self, where: str) -> None:
        if self.across and not self.keyed:
            raise ProgramError(
                f"{where} has events across keys ({self.across[0].name}), and is not keyed; it has "
                "one state, which every event may concern"
            )
        names = [*(state.name for state in self.states), *(one.name for one in self.across)]
        kinds = [kind for one in self.across for kind in one.kinds]
        for what, listed in (("state types and across", names), ("kinds across keys", kinds)):
            if len(set(listed)) != len(listed):
                raise ProgramError(f"{where}: {what} share a name: {listed}")
        if unknown := set(kinds) - set(self.kinds):
            raise ProgramError(f"{where}, across: unknown kinds {sorted(unknown)}")
        if set(kinds) == set(self.kinds):
            raise ProgramError(
                f"{where}: every kind is across keys, so that it has no keys' events"
            )
        for state in self.states:
            if both := set(state.kinds or ()) & set(kinds):
                raise ProgramError(
                    f"{where}, state type {state.name}: {sorted(both)} are across keys, and "
                    "processed there"
                )

    def _check_dependence(self, where: str) -> None:
        keys = (0, 1) if self.keyed else (0,)
        tags = [Tag(kind, key) for key in keys for kind in sorted(self.key_kinds())]
        for first in tags:
            for second in tags:
                forward, backward = self.depends(first, second), self.depends(second, first)
                pair = f"({self.describe(first)}, {self.describe(second)})"
                if forward != backward:
                    raise ProgramError(f"{where}: depends is not symmetric on {pair}")
                if forward and first.key != second.key:
                    raise ProgramError(f"{where} is keyed, but depends holds across keys on {pair}")

    def describe(self, tag: Tag) -> str:
        """Return the tag in words, e.g. `view` or `view(3)` for a keyed program."""
        name = self.kinds[tag.kind]
        return f"{name}({tag.key})" if self.keyed else name

    def state(self, name: str) -> StateType:
        """Return the state type of that name.

        Raises:
            ProgramError: there is none.
        """
        for state in self.states:
            if state.name == name:
                return state
        raise ProgramError(f"program {self.name} has no state type {name}")

    def kinds_of(self, state: StateType) -> frozenset[int]:
        """Return the kind indices that a state type can process."""
        if state.kinds is None:
            return self.key_kinds()
        return frozenset(self.kinds.index(kind) for kind in state.kinds)

    def dependent_kinds(self) -> frozenset[tuple[int, int]]:
        """Return all pairs of kinds that depend on each other within one key, in both orders."""
        own = self.key_kinds()
        return frozenset((a, b) for a in own for b in own if self.depends(Tag(a), Tag(b)))

    def key_kinds(self) -> frozenset[int]:
        """Return the indices of the kinds that concern one key."""
        across = {kind for one in self.across for kind in one.kinds}
        return frozenset(index for index, kind in enumerate(self.kinds) if kind not in across)

    def across_of(self, kind: int) -> Across | None:
        """Return what processes a kind across keys; None: it concerns one key."""
        return next((one for one in self.across if self.kinds[kind] in one.kinds), None)

    def dependent(self, one: Tag, two: Tag) -> bool:
        """Return whether events of two tags must stay in order, across keys as well.

        Two groups of different `across` count as dependent: they may have a key in common.
        """
        first, second = self.across_of(one.kind), self.across_of(two.kind)
        if first is None and second is None:
            return one.key == two.key and self.depends(one, two)
        if first is None:
            first, second, one, two = second, first, two, one
        if second is None:
            return first is not None and first.group_of(two.key) == one.key
        return first is not second or one.key == two.key

    def kind_indices(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the indices of kinds given by name."""
        return tuple(self.kinds.index(name) for name in names)


def _require_structured(dtype: np.dtype[np.void], where: str) -> None:
    if dtype.names is None:
        raise ProgramError(f"{where}: {dtype} is not a structured dtype with named fields")
