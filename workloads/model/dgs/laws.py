"""Defines the laws that `check` tests on DGS programs.

Each law is a function that draws a history and raises a counterexample if the history breaks the law.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from hypothesis import assume
from hypothesis import strategies as st

from streamlab.workloads.model.dgs.program import ForkJoin
from streamlab.workloads.model.dgs.wires import (
    MAX_HISTORY,
    Draw,
    Semantics,
    Wire,
    draw_predicates,
    draw_updates,
    draw_wire,
)

Law = tuple[str, str, Callable[[Draw], None]]
"""A condition, the place where it must hold, and the function that tests it."""


class BrokenLawError(Exception):
    """Carries a counterexample out of Hypothesis."""

    def __init__(self, law: str, lines: tuple[str, ...]) -> None:
        super().__init__(law)
        self.law = law
        self.lines = lines


def join_commutes(semantics: Semantics, pair: ForkJoin, draw: Draw) -> None:
    """C1: join(update(s1, e), s2) = update(join(s1, s2), e), and the same for e on the second part."""
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
    event = draw(semantics.events(predicates[side]))
    updated, out_before = semantics.update(names[side], parts[side], event)
    left = semantics.join(pair, *([updated, parts[1]] if side == 0 else [parts[0], updated]))
    joined = semantics.join(pair, *parts)
    right, out_after = semantics.update(pair.parent, joined, event)
    if not (
        semantics.equal(pair.parent, left, right)
        and semantics.same_outputs(out_before, out_after, ordered=True)
    ):
        label = ("first", "second")[side]
        lines += [
            f"event {semantics.event_words(event)} on the {label} part",
            f"  then join: {_side(semantics, pair.parent, left, out_before)}",
            f"  after join: {_side(semantics, pair.parent, right, out_after)}",
        ]
        _fail("an update before the join differs from the same update after it", lines)


def join_restores(semantics: Semantics, pair: ForkJoin, draw: Draw) -> None:
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
        _fail("join after fork does not restore the state", lines)


def events_commute(semantics: Semantics, type_name: str, draw: Draw) -> None:
    """C3: independent events commute, with the same outputs in any order."""
    wire = draw_wire(draw, semantics, type_name)
    dependent = semantics.program.dependent_kinds()
    pairs = [(a, b) for a in wire.kinds for b in wire.kinds if (a, b) not in dependent]
    assume(pairs)
    kinds = draw(st.sampled_from(sorted(pairs)))
    a, b = (draw(semantics.events(frozenset({kind}))) for kind in kinds)
    left, left_out = _run_both(semantics, type_name, wire.state, a, b)
    right, right_out = _run_both(semantics, type_name, wire.state, b, a)
    if not (
        semantics.equal(type_name, left, right)
        and semantics.same_outputs(left_out, right_out, ordered=False)
    ):
        first, second = semantics.event_words(a), semantics.event_words(b)
        lines = [
            *wire.history,
            f"{first} and {second} are independent",
            f"  {first} first: {_side(semantics, type_name, left, left_out)}",
            f"  {second} first: {_side(semantics, type_name, right, right_out)}",
        ]
        _fail("independent events do not commute", lines)


def outputs_carry_time(semantics: Semantics, type_name: str, draw: Draw) -> None:
    """Time: every output of update(s, e) has the timestamp of e as its `ts`."""
    wire = draw_wire(draw, semantics, type_name)
    assume(wire.kinds)
    event = draw(semantics.events(wire.kinds))
    _, outputs = semantics.update(type_name, wire.state, event)
    wrong = [row for row in outputs if row[0] != event.ts]
    if wrong:
        lines = [
            *wire.history,
            f"event {semantics.event_words(event)}",
            f"  output with ts {wrong[0][0]} instead of {event.ts}: "
            f"{semantics.output_words(wrong[0])}",
        ]
        _fail("an output does not carry the timestamp of the event that caused it", lines)


def cut_commutes(semantics: Semantics, draw: Draw) -> None:
    """Cut: the answer for the events before a time is the part of the answer before that time."""
    program = semantics.program
    kinds = program.key_kinds()
    events = draw(semantics.some_events(kinds, 2 * MAX_HISTORY))
    ordered = sorted(events, key=lambda event: int(event.ts))
    until = draw(st.integers(0, 10))  # drawn events have times 0 to 9
    whole = semantics.answer(ordered)
    expected = [row for row in whole if row[0] < until]
    actual = semantics.answer([event for event in ordered if event.ts < until])
    if actual != expected:
        lines = [
            *(f"event {semantics.event_words(event)}" for event in ordered),
            f"whole answer: {whole}",
            f"cut before {until}: {expected}",
            f"answer for the cut input: {actual}",
        ]
        _fail("the answer for a cut input is not the cut of the answer", lines)


def _run_both(
    semantics: Semantics, type_name: str, state: Any, first: Any, second: Any
) -> tuple[Any, list[Any]]:
    middle, first_outputs = semantics.update(type_name, state, first)
    end, second_outputs = semantics.update(type_name, middle, second)
    return end, first_outputs + second_outputs


def _side(semantics: Semantics, type_name: str, state: Any, outputs: list[Any]) -> str:
    return f"{semantics.words(type_name, state)}, outputs {outputs}"


def _fail(law: str, lines: list[str]) -> NoReturn:
    raise BrokenLawError(law, tuple(lines))
