"""Draws wires with Hypothesis: reachable states, with the kinds that they may still process.

A wire (DGS paper, Definition 2.2) is a state with a predicate. It records its history in words, so that
a counterexample can be read from the initial state on.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from streamlab.workloads.model.code.functions import memo
from streamlab.workloads.model.dgs.program import DGSProgram, ForkJoin, Record
from streamlab.workloads.model.dgs.rounding import Rounding, integers_first
from streamlab.workloads.model.errors import ProgramError
from streamlab.workloads.model.streams.records import (
    Emitter,
    event_type,
    initial_state,
    state_records,
)

Kinds = frozenset[int]
Row = tuple[Any, ...]
Draw = Callable[[st.SearchStrategy[Any]], Any]

MAX_HISTORY = 4
"""Largest number of events between two forks of a history; shrinking finds shorter histories."""

_SIDES = ((False, False), (True, False), (False, True), (True, True))
"""All answers to whether the first and whether the second part of a fork may process a kind."""


BOUND = 1 << 20
"""Largest magnitude of payload integers; a sum of a few dozen fits 32 bits."""

TENTHS = st.integers(1, 999).map(lambda n: n / 10)
"""Draws numbers of one sign; sums that cancel would make relative differences meaningless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """Holds a state, the kinds that it may process, and its history.

    Attributes:
        type: Name of the state type.
        state: The record; owned by the wire.
        kinds: The predicate.
        history: One line for each step since the initial state.
    """

    type: str
    state: Record
    kinds: Kinds
    history: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Semantics:
    """Runs a program's functions on copies of records, with the checks that compiled code needs.

    Attributes:
        rounding: Records differences. None if sums of the drawn floats are exact and must be equal.
    """

    program: DGSProgram
    rounding: Rounding | None = None

    def events(self, kinds: Kinds) -> st.SearchStrategy[Any]:
        """Return a strategy for events of `kinds`; the key is always 0."""
        return _events(self.program, kinds, self.rounding is not None)

    def some_events(self, kinds: Kinds, most: int) -> st.SearchStrategy[list[Any]]:
        """Return a strategy for up to `most` events of `kinds`."""
        return _some_events(self.program, kinds, most, self.rounding is not None)

    def update(self, type_name: str, state: Record, event: Any) -> tuple[Record, list[Any]]:
        """Return the state after an event and the emitted records.

        Raises:
            ProgramError: The event emitted too many records, or one with a wrong number of fields.
        """
        after = self.copy(type_name, state)
        out = Emitter(self.program.output)
        self.program.state(type_name).update(after, event, out)
        width = len(self.program.output.names or ())
        if any(len(row) != width for row in out.rows):
            raise ProgramError(f"update emits {out.rows}, but outputs have {width} fields")
        max_records = self.program.max_outputs_per_event
        if len(out.rows) > max_records:
            raise ProgramError(
                f"update emits {len(out.rows)} records for {self.event_words(event)}, but "
                f"max_outputs_per_event is {max_records}; raise it"
            )
        return after, list(out.rows)

    def answer(self, ordered: Iterable[Any]) -> list[Any]:
        """Return the outputs for events in this order, from the initial state on."""
        first = self.program.states[0].name
        state, emitted = initial_state(self.program), []
        for event in ordered:
            state, outputs = self.update(first, state, event)
            emitted += outputs
        return emitted

    def fork(self, pair: ForkJoin, state: Record, pred1: Kinds, pred2: Kinds) -> list[Record]:
        """Return both parts of a state."""
        records = state_records(self.program)
        first, second = records[pair.first].zeroed(), records[pair.second].zeroed()
        pair.fork(
            self.copy(pair.parent, state), self._mask(pred1), self._mask(pred2), first, second
        )
        return [first, second]

    def join(self, pair: ForkJoin, first: Record, second: Record) -> Record:
        """Return the joined state."""
        state = state_records(self.program)[pair.parent].zeroed()
        pair.join(self.copy(pair.first, first), self.copy(pair.second, second), state)
        return state

    def copy(self, type_name: str, state: Record) -> Record:
        """Return an independent copy of a state."""
        return state_records(self.program)[type_name].copy(state)

    def equal(self, type_name: str, a: Record, b: Record) -> bool:
        """Return whether two states are equal, up to rounding if enabled."""
        records = state_records(self.program)[type_name]
        if records.equal(a, b):
            return True
        return self.rounding is not None and self.rounding.equal(
            records.values(a), records.values(b)
        )

    def same_outputs(self, left: Sequence[Row], right: Sequence[Row], *, ordered: bool) -> bool:
        """Return whether outputs are the same, in the same order or in any order."""
        if left == right or (not ordered and Counter(left) == Counter(right)):
            return True
        if self.rounding is None:
            return False
        if not ordered:
            left, right = sorted(left, key=integers_first), sorted(right, key=integers_first)
        return self.rounding.equal(list(left), list(right))

    def words(self, type_name: str, state: Record) -> str:
        """Return a state in words."""
        return state_records(self.program)[type_name].words(state)

    def event_words(self, event: Any) -> str:
        """Return an event in words, e.g. `value(ts=1, key=0, value=3)`."""
        fields = [f"{name}={getattr(event, name)}" for name in event._fields if name != "kind"]
        return f"{self.program.kinds[event.kind]}({', '.join(fields)})"

    def output_words(self, row: tuple[Any, ...]) -> str:
        """Return an output in words, e.g. `(ts=1, sum=3)`."""
        names = self.program.output.names or ()
        return f"({', '.join(f'{n}={value}' for n, value in zip(names, row, strict=True))})"

    def kinds_words(self, kinds: Kinds) -> str:
        """Return a predicate in words."""
        return "{" + ", ".join(self.program.kinds[kind] for kind in sorted(kinds)) + "}"

    def _mask(self, kinds: Kinds) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.isin(np.arange(len(self.program.kinds)), sorted(kinds))


@memo(256)
def _events(program: DGSProgram, kinds: Kinds, rounding: bool) -> st.SearchStrategy[Any]:
    values = [_value(program, name, rounding) for name in program.event.names or ()]
    ts, kind = st.integers(0, 9), st.sampled_from(sorted(kinds))
    return st.tuples(ts, kind, st.just(0), *values).map(event_type(program.event)._make)


@memo(256)
def _some_events(
    program: DGSProgram, kinds: Kinds, most: int, rounding: bool
) -> st.SearchStrategy[list[Any]]:
    return st.lists(_events(program, kinds, rounding), max_size=most)


@memo(64)
def _sides(count: int) -> st.SearchStrategy[tuple[tuple[bool, bool], ...]]:
    return st.tuples(*(st.sampled_from(_SIDES) for _ in range(count)))


def draw_predicates(
    draw: Draw, program: DGSProgram, pair: ForkJoin, kinds: Kinds
) -> tuple[Kinds, Kinds]:
    """Draw independent predicates for a fork, within `kinds` and the kinds of the parts."""
    processable = [
        kinds & program.kinds_of(program.state(name)) for name in (pair.first, pair.second)
    ]
    chosen = list(zip(sorted(kinds), draw(_sides(len(kinds))), strict=True))
    preds = [
        frozenset(kind for kind, sides in chosen if sides[side] and kind in processable[side])
        for side in (0, 1)
    ]
    # Kinds that depend on kinds of the other side are removed from a random side: forks often treat the
    # sides unequally, so both sides must be tested with such kinds.
    keep = draw(st.sampled_from([0, 1]))
    dependent = program.dependent_kinds()
    preds[1 - keep] = frozenset(
        kind for kind in preds[1 - keep] if not any((kind, b) in dependent for b in preds[keep])
    )
    return preds[0], preds[1]


def draw_wire(draw: Draw, semantics: Semantics, type_name: str) -> Wire:
    """Draw a wire of a type, reachable from the initial state.

    Raises:
        ProgramError: No sequence of forks leads to that type.
    """
    program = semantics.program
    state = initial_state(program)
    first = program.states[0].name
    wire = Wire(
        type=first,
        state=state,
        kinds=program.key_kinds(),
        history=(f"init: {semantics.words(first, state)}",),
    )
    for pair, side in _path(program, type_name):
        wire = _descend(draw, semantics, draw_updates(draw, semantics, wire), pair, side)
    loops = [
        (pair, side)
        for pair in program.parallel
        for side, part in enumerate((pair.first, pair.second))
        if pair.parent == type_name == part
    ]
    if loops and draw(st.booleans()):
        pair, side = draw(st.sampled_from(loops))
        wire = _descend(draw, semantics, draw_updates(draw, semantics, wire), pair, side)
    return draw_updates(draw, semantics, wire)


def draw_updates(draw: Draw, semantics: Semantics, wire: Wire) -> Wire:
    """Return the wire after some drawn events that it may process."""
    if not wire.kinds:
        return wire
    for event in draw(semantics.some_events(wire.kinds, MAX_HISTORY)):
        state, _ = semantics.update(wire.type, wire.state, event)
        step = f"update {semantics.event_words(event)}: {semantics.words(wire.type, state)}"
        wire = replace(wire, state=state, history=(*wire.history, step))
    return wire


def reachable(program: DGSProgram, type_name: str) -> bool:
    """Return whether forks lead from the initial state to a state type."""
    try:
        _path(program, type_name)
    except ProgramError:
        return False
    return True


def _descend(draw: Draw, semantics: Semantics, wire: Wire, pair: ForkJoin, side: int) -> Wire:
    predicates = draw_predicates(draw, semantics.program, pair, wire.kinds)
    part = semantics.fork(pair, wire.state, *predicates)[side]
    type_name = (pair.first, pair.second)[side]
    words = ", ".join(semantics.kinds_words(kinds) for kinds in predicates)
    step = f"fork({words}), {('first', 'second')[side]} part: {semantics.words(type_name, part)}"
    return Wire(type=type_name, state=part, kinds=predicates[side], history=(*wire.history, step))


def _path(program: DGSProgram, type_name: str) -> tuple[tuple[ForkJoin, int], ...]:
    """Return the shortest sequence of forks, each with a side, from the initial type."""
    first = program.states[0].name
    paths: dict[str, tuple[tuple[ForkJoin, int], ...]] = {first: ()}
    queue = deque([first])
    while queue:
        type_here = queue.popleft()
        for pair in program.parallel:
            for side, part in enumerate((pair.first, pair.second)):
                if pair.parent == type_here and part not in paths:
                    paths[part] = (*paths[type_here], (pair, side))
                    queue.append(part)
    if type_name not in paths:
        raise ProgramError(
            f"program {program.name}: no fork leads from {first} to state type {type_name}; "
            "remove the type or add a fork-join"
        )
    return paths[type_name]


def _value(program: DGSProgram, name: str, rounding: bool) -> st.SearchStrategy[Any]:
    dtype = program.event[name]
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return st.integers(max(int(limits.min), -BOUND), min(int(limits.max), BOUND))
    if dtype.kind == "f":
        if rounding:
            return TENTHS
        # Sums of multiples of 1/4 are exact, so rounding does not appear as inconsistency.
        return st.integers(-64, 64).map(lambda n: n / 4)
    raise ProgramError(
        f"program {program.name}: payload field {name} has type {dtype}, which cannot be "
        "generated; use integers, floats or booleans"
    )
