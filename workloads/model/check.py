"""Checks that a program is consistent: conditions C1 to C3 of the DGS paper, Definition 2.3.

Consistency makes every plan give the sequential answer (Theorem 2.4). The conditions are tested on
generated histories, so a pass is evidence, not proof; a failure is a counterexample, shrunk. How C1
is read, and why not literally, is in `docs/decisions/0002-consistency-checker.md`.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from hypothesis import HealthCheck, Phase, Verbosity, assume, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from workloads.model.program import DGSProgram, ForkJoin
from workloads.model.wires import (
    Draw,
    Semantics,
    Wire,
    draw_predicates,
    draw_updates,
    draw_wire,
    events,
    reachable,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A condition that does not hold.

    Attributes:
        condition: `C1`, `C2` or `C3`.
        where: the fork-join or the state type.
        law: the equation that fails.
        lines: the counterexample: the history, the step, and both sides.
    """

    condition: str
    where: str
    law: str
    lines: tuple[str, ...]

    def render(self) -> str:
        """Return the counterexample as text."""
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"{self.condition} fails for {self.where}: {self.law}\n{body}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcome of a check.

    Attributes:
        program: its name.
        checked: what was tested, e.g. `C2 for counter -> (counter, counter)`.
        skipped: state types that no fork leads to.
        violations: what fails; empty when the program is consistent as far as was tested.
        examples: histories tested for each entry of `checked`.
    """

    program: str
    checked: tuple[str, ...]
    skipped: tuple[str, ...]
    violations: tuple[Violation, ...]
    examples: int

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not self.violations

    def render(self) -> str:
        """Return the report as text."""
        lines = [f"program {self.program}: {len(self.checked)} laws x {self.examples} histories"]
        failed = {f"{found.condition} for {found.where}" for found in self.violations}
        lines += [f"  {'FAILS' if name in failed else 'holds'}  {name}" for name in self.checked]
        lines += [f"  skipped  state type {name}: no fork leads to it" for name in self.skipped]
        lines += [found.render() for found in self.violations]
        return "\n".join(lines)


class _BrokenLawError(Exception):
    """Carries a counterexample out of Hypothesis."""

    def __init__(self, law: str, lines: tuple[str, ...]) -> None:
        super().__init__(law)
        self.law = law
        self.lines = lines


def check_program(program: DGSProgram, *, examples: int = 200, seed: int = 0) -> Report:
    """Test C1 and C2 for every fork-join and C3 for every state type.

    Args:
        program: the program.
        examples: histories to try for each law.
        seed: same seed, same histories.
    """
    semantics = Semantics(program=program)
    laws: list[tuple[str, str, Callable[[Draw], None]]] = []
    for pair in program.parallel:
        if reachable(program, pair.parent):
            where = f"{pair.parent} -> ({pair.first}, {pair.second})"
            laws.append(("C1", where, partial(_join_commutes, semantics, pair)))
            laws.append(("C2", where, partial(_join_restores, semantics, pair)))
    skipped = []
    for state in program.states:
        if reachable(program, state.name):
            laws.append(("C3", state.name, partial(_events_commute, semantics, state.name)))
        else:
            skipped.append(state.name)
    found = [_search(*law, examples, seed) for law in laws]
    return Report(
        program=program.name,
        checked=tuple(f"{condition} for {where}" for condition, where, _ in laws),
        skipped=tuple(skipped),
        violations=tuple(violation for violation in found if violation is not None),
        examples=examples,
    )


def _search(
    condition: str, where: str, law: Callable[[Draw], None], examples: int, seed: int
) -> Violation | None:
    """Return the smallest counterexample that Hypothesis finds, if any."""

    @seeded(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        law(data.draw)

    try:
        holds()
    except _BrokenLawError as broken:
        return Violation(condition=condition, where=where, law=broken.law, lines=broken.lines)
    except Exception as error:  # whatever the program's own functions raise
        text = f"{type(error).__name__}: {error}"
        law_text = "a function of the program raised on a reachable state"
        return Violation(condition=condition, where=where, law=law_text, lines=(text,))
    return None


def _join_commutes(semantics: Semantics, pair: ForkJoin, draw: Draw) -> None:
    """C1: join(update(s1, e), s2) = update(join(s1, s2), e), and alike for e on the second part."""
    wire = draw_wire(draw, semantics, pair.parent)
    predicates = draw_predicates(draw, semantics.program, pair, wire.kinds)
    sides = [side for side in (0, 1) if predicates[side]]
    assume(sides)
    side = draw(st.sampled_from(sides))
    names = (pair.first, pair.second)
    forked = semantics.fork(pair, wire.state, *predicates)
    words = ", ".join(semantics.kinds_words(kinds) for kinds in predicates)
    lines = [*wire.history, f"fork({words}):"]
    parts = []
    for label, name, part, kinds in zip(
        ("first", "second"), names, forked, predicates, strict=True
    ):
        start = (f"  {label} part: {semantics.words(name, part)}",)
        after = draw_updates(
            draw, semantics, Wire(type=name, state=part, kinds=kinds, history=start)
        )
        lines += [after.history[0], *(f"    {step}" for step in after.history[1:])]
        parts.append(after.state)
    event = draw(events(semantics.program, predicates[side]))
    updated, out_before = semantics.update(names[side], parts[side], event)
    left = semantics.join(pair, *([updated, parts[1]] if side == 0 else [parts[0], updated]))
    joined = semantics.join(pair, *parts)
    right, out_after = semantics.update(pair.parent, joined, event)
    if not semantics.equal(pair.parent, left, right) or out_before != out_after:
        label = ("first", "second")[side]
        lines += [
            f"event {semantics.event_words(event)} on the {label} part",
            f"  then join: {_side(semantics, pair.parent, left, out_before)}",
            f"  after join: {_side(semantics, pair.parent, right, out_after)}",
        ]
        _fail("an update before the join differs from the same update after it", lines)


def _join_restores(semantics: Semantics, pair: ForkJoin, draw: Draw) -> None:
    """C2: join(fork(s, pred1, pred2)) = s."""
    wire = draw_wire(draw, semantics, pair.parent)
    predicates = draw_predicates(draw, semantics.program, pair, wire.kinds)
    parts = semantics.fork(pair, wire.state, *predicates)
    joined = semantics.join(pair, *parts)
    if not semantics.equal(pair.parent, joined, wire.state):
        words = ", ".join(semantics.kinds_words(kinds) for kinds in predicates)
        lines = [
            *wire.history,
            f"fork({words}):",
            f"  first part: {semantics.words(pair.first, parts[0])}",
            f"  second part: {semantics.words(pair.second, parts[1])}",
            f"join: {semantics.words(pair.parent, joined)}",
            f"expected: {semantics.words(pair.parent, wire.state)}",
        ]
        _fail("joining what was forked does not give the state back", lines)


def _events_commute(semantics: Semantics, type_name: str, draw: Draw) -> None:
    """C3: independent events commute, with the same outputs in any order."""
    wire = draw_wire(draw, semantics, type_name)
    dependent = semantics.program.dependent_kinds()
    pairs = [(a, b) for a in wire.kinds for b in wire.kinds if (a, b) not in dependent]
    assume(pairs)
    kinds = draw(st.sampled_from(sorted(pairs)))
    one, two = (draw(events(semantics.program, frozenset({kind}))) for kind in kinds)
    left, left_out = _both(semantics, type_name, wire.state, one, two)
    right, right_out = _both(semantics, type_name, wire.state, two, one)
    if not semantics.equal(type_name, left, right) or Counter(left_out) != Counter(right_out):
        first, second = semantics.event_words(one), semantics.event_words(two)
        lines = [
            *wire.history,
            f"{first} and {second} are independent",
            f"  {first} first: {_side(semantics, type_name, left, left_out)}",
            f"  {second} first: {_side(semantics, type_name, right, right_out)}",
        ]
        _fail("independent events do not commute", lines)


def _both(
    semantics: Semantics, type_name: str, state: Any, one: Any, two: Any
) -> tuple[Any, list[Any]]:
    middle, early = semantics.update(type_name, state, one)
    end, late = semantics.update(type_name, middle, two)
    return end, early + late


def _side(semantics: Semantics, type_name: str, state: Any, outputs: list[Any]) -> str:
    return f"{semantics.words(type_name, state)}, outputs {outputs}"


def _fail(law: str, lines: list[str]) -> NoReturn:
    raise _BrokenLawError(law, tuple(lines))
