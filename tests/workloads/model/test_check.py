"""The consistency checker: the suite's programs pass, programs broken on purpose do not."""

import random
from dataclasses import replace

import numpy as np
import pytest

from streamlab.workloads.model import (
    Alphabet,
    DGSProgram,
    ForkJoin,
    Input,
    StateType,
    Stream,
    Window,
)
from streamlab.workloads.model.check import check
from streamlab.workloads.model.dgs.optimizer import choose_plan
from streamlab.workloads.model.dgs.plan_interpreter import run_plan
from streamlab.workloads.model.dgs.stream_profile import profile
from streamlab.workloads.model.operators.program import SINGLE
from streamlab.workloads.suite.event_window.program import PROGRAM as EVENT_WINDOW
from streamlab.workloads.suite.fraud_detection.program import PROGRAM as FRAUD_DETECTION
from streamlab.workloads.suite.keyed_counter.program import PROGRAM as KEYED_COUNTER
from streamlab.workloads.suite.page_view_join.program import PROGRAM as PAGE_VIEW_JOIN
from tests.examples import examples
from tests.workloads.model import naive
from tests.workloads.model.dataflow.parts import LI, of_loads
from tests.workloads.model.pipelines import TWICE, pipeline
from tests.workloads.model.plans import PROGRAMS
from tests.workloads.model.queries import forwarding

ENOUGH = 40
"""Histories in which each of the faults here shows; `lab check` tries five times as many."""


@pytest.mark.some(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_programs_of_the_suite_are_consistent(program):
    report = check(program, examples=examples(100))
    assert report.ok, report.render()
    assert len(report.checked) == 6


def with_pair(program: DGSProgram, **changes: object) -> DGSProgram:
    return replace(program, parallel=(replace(program.parallel[0], **changes),))


def with_update(program: DGSProgram, update: object) -> DGSProgram:
    return replace(program, states=(replace(program.states[0], update=update),))


def join_drops_the_rules(first, second, state):
    state.sum = first.sum + second.sum
    state.model = second.model if second.rules > first.rules else first.model


def fork_loses_the_sum(state, pred1, pred2, first, second):
    first.sum = state.sum // 2
    second.sum = state.sum // 2


def fork_ignores_predicates(state, pred1, pred2, first, second):
    first.count = state.count


def fork_copies_to_both(state, pred1, pred2, first, second):
    first.sum = state.sum
    second.sum = state.sum


def running_total(state, event, out):
    if event.kind == 0:
        state.sum += event.value
    else:
        out.emit(event.ts, state.sum)


def forgets_when_nested(deepest: int) -> DGSProgram:
    """Return a running total whose fork loses it when it is nested more than `deepest` times."""

    def fork(state, pred1, pred2, first, second):
        first.depth = state.depth + 1
        second.depth = state.depth + 1
        kept = state.sum if state.depth < deepest else 0
        if pred2[1]:
            second.sum = kept
        else:
            first.sum = kept

    def join(first, second, state):
        state.sum = first.sum + second.sum
        state.depth = first.depth - 1

    state = StateType(
        name="total", dtype=np.dtype([("sum", "i8"), ("depth", "i8")]), update=running_total
    )
    pair = ForkJoin(parent="total", first="total", second="total", fork=fork, join=join)
    return replace(EVENT_WINDOW, states=(state,), parallel=(pair,))


def update_in_order(state, event, out):
    if event.kind == 0:
        state.sum = 3 * state.sum + event.value
    else:
        out.emit(event.ts, state.sum)
        state.sum = 0


def view_counts_itself(state, event, out):
    out.emit(event.ts, event.kind, event.key, state.version, state.meta)
    state.version += 1


def update_at_zero(state, event, out):
    if event.kind == 0:
        state.sum += event.value
    else:
        out.emit(0, state.sum)
        state.sum = 0


def update_with_a_memory_of_its_own():
    seen = []

    def update(state, event, out):
        seen.append(event)
        if event.kind == 1:
            out.emit(event.ts, len(seen))

    return update


BROKEN = [
    (with_pair(EVENT_WINDOW, fork=fork_loses_the_sum), {"C2": "expected: window(sum="}),
    (with_pair(KEYED_COUNTER, fork=fork_ignores_predicates), {"C1": "event read_reset"}),
    (with_pair(FRAUD_DETECTION, join=join_drops_the_rules), {"C2": "join: model(sum=0"}),
    (
        replace(PAGE_VIEW_JOIN, depends=lambda a, b: False),
        {"C3": "are independent", "C1": "then join"},
    ),
    (with_pair(EVENT_WINDOW, fork=fork_copies_to_both), {"C2": "expected: window(sum="}),
    (
        with_update(EVENT_WINDOW, update_at_zero),
        {
            "time": "output with ts 0 instead of 1: (ts=0,",
            "cut": "answer for the cut input: []",
        },
    ),
    (with_update(PAGE_VIEW_JOIN, view_counts_itself), {"C3": "outputs"}),
    (with_update(EVENT_WINDOW, update_with_a_memory_of_its_own()), {"cut": "cut before"}),
    (with_update(EVENT_WINDOW, update_in_order), {"C3": "are independent"}),
]
"""Programs, and what is said of each by the conditions that it breaks."""


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("program", "message"), BROKEN, ids=[" ".join(message) for _, message in BROKEN]
)
def test_a_broken_program_is_caught_with_a_counterexample(program, message):
    report = check(program, examples=ENOUGH)
    assert not report.ok
    for condition, text in message.items():
        found = [violation for violation in report.violations if violation.condition == condition]
        assert found, report.render()
        assert text in found[0].render()
        assert f"FAILS  {condition}" in report.render()


def test_a_program_may_draw_random_numbers():
    def update(state, event, out):
        random.random()
        EVENT_WINDOW.states[0].update(state, event, out)

    report = check(with_update(EVENT_WINDOW, update), examples=ENOUGH)
    assert report.ok, report.render()


class UpdateInOrder:
    def __call__(self, state, event, out):
        update_in_order(state, event, out)

    def __repr__(self):
        raise RuntimeError("nobody asked")


def test_parts_of_a_program_need_not_be_printable():
    report = check(with_update(EVENT_WINDOW, UpdateInOrder()), examples=ENOUGH)
    assert "FAILS  C3" in report.render()
    assert "nobody asked" not in report.render()


def test_the_counterexample_is_shrunk():
    report = check(with_pair(EVENT_WINDOW, fork=fork_loses_the_sum), examples=ENOUGH)
    (found,) = (violation for violation in report.violations if violation.condition == "C2")
    assert found.lines == (
        "init: window(sum=0)",
        "update value(ts=0, key=0, value=1): window(sum=1)",
        "fork({}, {}):",
        "  first part: window(sum=0)",
        "  second part: window(sum=0)",
        "join: window(sum=0)",
        "expected: window(sum=1)",
    )


def test_a_fork_that_is_wrong_only_when_deeply_nested_is_caught_and_shrunk():
    """Right with up to 8 workers, wrong with 16: three forks are within each other, then four."""
    report = check(forgets_when_nested(3))
    (found,) = report.violations
    assert found.condition == "wires"
    text = found.render()
    assert text.count("fork(") == 4
    assert text.count("update ") == 1
    assert "forked and joined: total(sum=0, depth=0), outputs []" in text
    assert "in sequence: total(sum=1, depth=0), outputs []" in text


@pytest.mark.full
def test_forks_are_nested_as_deeply_as_64_workers_need():
    report = check(forgets_when_nested(5))
    assert [violation.condition for violation in report.violations] == ["wires"]


@pytest.mark.parametrize(("workers", "sums"), [(8, [8, 8]), (16, [16, 0])])
def test_such_a_fork_is_right_with_8_workers_and_wrong_with_16(workers, sums):
    program, one = forgets_when_nested(3), np.array([1], dtype=np.int64)
    values = tuple(
        Stream(name=f"value-{index}", kinds=(0,), ts=one, payload={"value": one})
        for index in range(workers)
    )
    barriers = Stream(name="barrier", kinds=(1,), ts=np.array([2, 3], dtype=np.int64))
    data = Input(alphabet=Alphabet(kinds=program.kinds), streams=(*values, barriers))
    plan = choose_plan(program, data.alphabet, profile(data), workers)
    assert run_plan(plan, data, random.Random(0))["sum"].tolist() == sums


def test_the_law_of_wires_is_about_outputs_as_well():
    def emits_itself(state, event, out):
        if event.kind == 0:
            state.sum += event.value
            out.emit(event.ts, state.sum)
        else:
            out.emit(event.ts, state.sum)
            state.sum = 0

    report = check(with_update(EVENT_WINDOW, emits_itself), examples=ENOUGH)
    found = {violation.condition: violation for violation in report.violations}
    assert "in sequence: window(sum=" in found["wires"].render()


@pytest.mark.full
@pytest.mark.parametrize(
    "program",
    [
        with_update(EVENT_WINDOW, update_in_order),
        naive.query(replace(forwarding(Window(advance=2, size=4, type=SINGLE)), max_outputs=0)),
        pipeline(replace(TWICE, max_outputs=1)),
        of_loads(replace(LI, max_outputs=3)),
    ],
    ids=lambda program: type(program).__name__,
)
def test_the_same_seed_finds_the_same_counterexample(program):
    first = check(program, examples=20, seed=5)
    assert not first.ok
    assert check(program, examples=20, seed=5) == first


def test_too_many_outputs_are_caught():
    program = replace(EVENT_WINDOW, max_outputs_per_event=0)
    report = check(program, examples=ENOUGH)
    assert not report.ok
    assert "max_outputs_per_event is 0; raise it" in report.render()


def test_an_exception_in_the_program_is_reported_and_not_raised():
    def update(state, event, out):
        state.total += 1

    report = check(with_update(EVENT_WINDOW, update), examples=ENOUGH)
    assert not report.ok
    assert "AttributeError" in report.render()
    assert f", in update ({__file__}:" in report.render()


@pytest.mark.full
def test_several_state_types_are_reached_through_their_forks():
    def parts(state, pred1, pred2, first, second):
        first.sum = state.sum

    def whole(first, second, state):
        state.sum = first.sum + second.sum

    window = EVENT_WINDOW.states[0]
    part = StateType(
        name="part",
        dtype=np.dtype([("sum", np.int64)]),
        update=window.update,
        kinds=frozenset({"value"}),
    )
    stray = replace(part, name="stray")
    pair = replace(EVENT_WINDOW.parallel[0], first="part", second="part", fork=parts, join=whole)
    program = replace(
        EVENT_WINDOW,
        states=(window, part, stray),
        parallel=(pair, replace(pair, parent="part")),
    )
    report = check(program, examples=examples(60))
    assert report.ok, report.render()
    assert "C2 for part -> (part, part)" in report.checked
    assert report.skipped == ("state type stray: no fork leads to it",)


@pytest.mark.full
def test_a_law_about_independent_events_holds_without_such_events():
    report = check(replace(EVENT_WINDOW, depends=lambda a, b: True), examples=20)
    assert not [found for found in report.violations if found.condition == "C3"], report.render()
