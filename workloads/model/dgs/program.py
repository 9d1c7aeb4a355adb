"""Defines DGS programs: a sequential update, a dependence relation, and fork and join.

Source: Stream Processing with Dependency-Guided Synchronization, Definition 2.1. Functions are plain
Python over records with attributes. The reference engine runs them as they are; the multicore engine
compiles them with Numba. So they may use numbers, attributes, nested arrays, loops and branches, but no
other Python objects.
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
"""`update(state, event, out)`: change `state` in place; `out.emit(*fields)` emits one output record.

`event` has the attributes `ts`, `kind`, `key` and the program's payload fields; a field that the
event's stream does not carry reads as 0.
"""

ForkFn = Callable[[Record, Any, Any, Record, Record], None]
"""`fork(state, pred1, pred2, first, second)`: fill `first` and `second` from `state`.

`pred1[kind]` is true when the first part may be given events of that kind. Both parts start zeroed.
"""

JoinFn = Callable[[Record, Record, Record], None]
"""`join(first, second, state)`: fill `state`, which starts zeroed, from both parts."""

CheckpointFn = Callable[[Record, Record], bool]
"""`checkpoint(state, event)`: whether to write a checkpoint before `event`; `state` is the state before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateType:
    """Describes a type of state and its update.

    Attributes:
        name: Unique within the program.
        dtype: Structured dtype of the record (integers, floats, nested arrays of them).
        update: Processes one event in a state of this type.
        kinds: Names of the kinds that this type can process (`pred_i`); None means all.
    """

    name: str
    dtype: np.dtype[np.void]
    update: UpdateFn
    kinds: frozenset[str] | None = None

    def __post_init__(self) -> None:
        require_plain(f"state type {self.name}", update=self.update)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkJoin:
    """Describes a fork from `parent` to (`first`, `second`) and the join back, by state type name."""

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
    """Describes a program with dependency-guided synchronization.

    A *keyed* program describes one key: its state belongs to that key alone, and the whole program is
    the product over all keys. (The paper's State_0 maps keys to states; its fork by key is a projection.)
    Its `depends` must be false between different keys; `across` declares events that concern several keys.

    Attributes:
        kinds: Names of the event kinds; `event.kind` is an index into them.
        event: Structured dtype of the payload (without `ts`, `kind`, `key`).
        output: Structured dtype of an output record. Its first field is `ts` (int64), which must be the
            timestamp of the current event; it orders outputs that leave an engine in several places.
        depends: Symmetric relation on tags, except tags of `across`.
        states: State types; the first is the type of the initial state and can process every kind, except
            kinds of `across`.
        init: Fills the zeroed initial state (of the first type).
        parallel: Fork-join pairs; if empty, only sequential plans are valid.
        keyed: Whether the program is a product over keys.
        across: Kinds of a keyed program that concern many keys.
        max_outputs_per_event: Largest number of records that one update may emit.
        checkpoint: Decides whether an engine may write a checkpoint before a synchronizing event (appendix D.2), given
            the state of the event's key. It must not change its arguments. None allows it before all of them.

    Raises:
        ProgramError: A part is missing or inconsistent.
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
    checkpoint: CheckpointFn | None = None

    def __post_init__(self) -> None:
        where = f"program {self.name}"
        require_plain(where, depends=self.depends, init=self.init)
        if self.checkpoint is not None:
            require_plain(where, checkpoint=self.checkpoint)
            if self.across:
                raise ProgramError(
                    f"{where}: checkpoint reads the state of one key, but events of "
                    f"{self.across[0].name} concern many; drop checkpoint"
                )
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
                f"{where} has events across keys ({self.across[0].name}), but is not keyed; any of "
                "its events may use its only state: drop across, or make it keyed"
            )
        names = [*(state.name for state in self.states), *(a.name for a in self.across)]
        kinds = [kind for across in self.across for kind in across.kinds]
        for group, listed in (("state types and across", names), ("kinds across keys", kinds)):
            if len(set(listed)) != len(listed):
                raise ProgramError(f"{where}: {group} share a name: {listed}")
        if unknown := set(kinds) - set(self.kinds):
            raise ProgramError(f"{where}, across: unknown kinds {sorted(unknown)}")
        if set(kinds) == set(self.kinds):
            raise ProgramError(
                f"{where}: every kind is across keys; at least one kind must be of a single key"
            )
        for state in self.states:
            if both := set(state.kinds or ()) & set(kinds):
                raise ProgramError(
                    f"{where}, state type {state.name}: {sorted(both)} are across keys, and only "
                    "`across` processes them; remove them from the type's kinds"
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
        """Return the state type with a name.

        Raises:
            ProgramError: No state type has this name.
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
        kinds = self.key_kinds()
        return frozenset((a, b) for a in kinds for b in kinds if self.depends(Tag(a), Tag(b)))

    def key_kinds(self) -> frozenset[int]:
        """Return the indices of the kinds that concern a single key."""
        across = {kind for group in self.across for kind in group.kinds}
        return frozenset(index for index, kind in enumerate(self.kinds) if kind not in across)

    def across_of(self, kind: int) -> Across | None:
        """Return the `across` that processes a kind; None if the kind concerns a single key."""
        return next((group for group in self.across if self.kinds[kind] in group.kinds), None)

    def dependent(self, a: Tag, b: Tag) -> bool:
        """Return whether events of two tags must stay in order, including events across keys.

        Groups of different `across` count as dependent, because they may share a key.
        """
        first, second = self.across_of(a.kind), self.across_of(b.kind)
        if first is None and second is None:
            return a.key == b.key and self.depends(a, b)
        if first is None:
            first, second, a, b = second, first, b, a
        if second is None:
            return first is not None and first.group_of(b.key) == a.key
        return first is not second or a.key == b.key

    def kind_indices(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the indices of kinds by name."""
        return tuple(self.kinds.index(name) for name in names)


def _require_structured(dtype: np.dtype[np.void], where: str) -> None:
    if dtype.names is None:
        raise ProgramError(f"{where}: {dtype} is not a structured dtype with named fields")
