"""Tests Theorem 2.4 of the DGS paper on random wire diagrams (Definition 2.2).

A diagram starts with the initial state. A wire processes events; it may fork into two wires with
independent predicates, each again a diagram, which join later. The state and the outputs of any diagram
must equal those of its events in sequence. Every synchronization plan is such a diagram. Diagrams are
drawn as deep as plans become.
"""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from streamlab.workloads.model.dgs.laws import BrokenLawError
from streamlab.workloads.model.dgs.program import DGSProgram, ForkJoin
from streamlab.workloads.model.dgs.wires import Draw, Kinds, Semantics, draw_predicates
from streamlab.workloads.model.streams.records import initial_state

MAX_WORKERS = 256
"""Number of leaves of the largest plan that an engine of the lab runs."""
MAX_EVENTS = 2
"""Largest number of events of a wire before, between and after its forks; shrinking finds fewer."""
_BALANCED = (MAX_WORKERS - 1).bit_length()
"""Depth of a balanced binary tree with MAX_WORKERS leaves."""


def deepest(program: DGSProgram) -> int:
    """Return the largest depth of nested forks in a plan for MAX_WORKERS workers.

    Splitting the dependence graph removes at least one kind and combines the parts in a balanced tree. A
    part that splits again is a tree within that tree.
    """
    return min(MAX_WORKERS - 1, _BALANCED * max(1, len(program.kinds) - 1))


def diagrams_agree(semantics: Semantics, draw: Draw) -> None:
    """Wires: a diagram has the state and the outputs of its events in sequence."""
    program = semantics.program
    first = program.states[0].name
    start = initial_state(program)
    diagram = _Diagram(
        semantics=semantics, draw=draw, lines=[f"init: {semantics.words(first, start)}"]
    )
    depth = 0
    if program.parallel:
        most = deepest(program)
        # Half of the diagrams have the largest depth; shrinking reduces it.
        depth = min(most, draw(st.integers(0, 2 * most)))
    state, order = diagram.wire(first, start, program.key_kinds(), depth, indent="")
    expected, outputs = start, []
    for event in order:
        expected, emitted = semantics.update(first, expected, event)
        outputs += emitted
    if semantics.equal(first, state, expected) and semantics.same_outputs(
        diagram.outputs, outputs, ordered=False
    ):
        return
    raise BrokenLawError(
        "forked and joined, events give another result than in sequence",
        (
            *diagram.lines,
            f"forked and joined: {semantics.words(first, state)}, outputs {diagram.outputs}",
            f"in sequence: {semantics.words(first, expected)}, outputs {outputs}",
        ),
    )


@dataclass(slots=True, kw_only=True)
class _Diagram:
    """Draws a diagram, and collects its outputs and its history in words."""

    semantics: Semantics
    draw: Draw
    lines: list[str]
    outputs: list[Any] = field(default_factory=list)

    def wire(
        self, name: str, state: Any, kinds: Kinds, depth: int, indent: str
    ) -> tuple[Any, list[Any]]:
        """Draw a wire with `depth` nested forks; return its last state, and its events in sequence."""
        state, order = self._updates(name, state, kinds, indent)
        pairs = [pair for pair in self.semantics.program.parallel if pair.parent == name]
        if depth == 0 or not pairs:
            return state, order
        pair = self.draw(st.sampled_from(pairs)) if len(pairs) > 1 else pairs[0]
        state, forked = self._fork(pair, state, kinds, depth, indent)
        state, after = self._updates(name, state, kinds, indent)
        return state, order + forked + after

    def _fork(
        self, pair: ForkJoin, state: Any, kinds: Kinds, depth: int, indent: str
    ) -> tuple[Any, list[Any]]:
        semantics = self.semantics
        predicates = self._draw_predicates(pair, kinds)
        parts = semantics.fork(pair, state, *predicates)
        words = ", ".join(semantics.kinds_words(pred) for pred in predicates)
        self.lines.append(f"{indent}fork({words}):")
        deep = self.draw(st.sampled_from([0, 1]))
        # One part has the full depth. The other part is seldom forked, because a full tree is too large.
        depths = [0, 0]
        depths[deep] = depth - 1
        if depth > 1 and self.draw(st.integers(0, 3)) == 3:
            depths[1 - deep] = 1
        orders = []
        for side, name in enumerate((pair.first, pair.second)):
            label = ("first", "second")[side]
            self.lines.append(f"{indent}  {label} part: {semantics.words(name, parts[side])}")
            below = f"{indent}    "
            parts[side], order = self.wire(name, parts[side], predicates[side], depths[side], below)
            orders.append(order)
        joined = semantics.join(pair, *parts)
        self.lines.append(f"{indent}join: {semantics.words(pair.parent, joined)}")
        return joined, orders[0] + orders[1]

    def _draw_predicates(self, pair: ForkJoin, kinds: Kinds) -> tuple[Kinds, Kinds]:
        """Draw predicates; mostly as in a plan, with work for both parts."""
        program = self.semantics.program
        if self.draw(st.integers(0, 3)) < 3:
            shared = _shared_kinds(program, kinds)
            first, second = (
                shared & program.kinds_of(program.state(name)) for name in (pair.first, pair.second)
            )
            return first, second
        return draw_predicates(self.draw, program, pair, kinds)

    def _updates(self, name: str, state: Any, kinds: Kinds, indent: str) -> tuple[Any, list[Any]]:
        if not kinds:
            return state, []
        drawn = self.draw(self.semantics.some_events(kinds, MAX_EVENTS))
        for event in drawn:
            state, emitted = self.semantics.update(name, state, event)
            self.outputs += emitted
            step = f"update {self.semantics.event_words(event)}"
            self.lines.append(f"{indent}{step}: {self.semantics.words(name, state)}")
        return state, drawn


def _shared_kinds(program: DGSProgram, kinds: Kinds) -> Kinds:
    """Return kinds that do not depend on each other or on themselves, which both parts may have."""
    dependent = program.dependent_kinds()
    shared: set[int] = set()
    for kind in sorted(kinds):
        if not any((kind, other) in dependent for other in (kind, *shared)):
            shared.add(kind)
    return frozenset(shared)
