"""The checker on queries: good ones pass, ones broken on purpose are caught with their law."""

from dataclasses import replace
from typing import Any

import pytest

from streamlab.workloads.model import Operator, Query, Window
from streamlab.workloads.model.check import ConsistencyReport, check
from streamlab.workloads.model.operators.program import SINGLE
from tests.examples import examples
from tests.workloads.model import naive
from tests.workloads.model.queries import chain, forwarding, joined, panes

ENOUGH = 10
"""Inputs in which each of the faults here shows; `lab check` tries twenty times as many."""
WINDOW = Window(advance=2, size=4)
SLIDING = Window(advance=2, size=4, type=SINGLE)
GOOD = (
    naive.query(naive.counting(WINDOW, 2)),
    naive.query(naive.storing(WINDOW)),
    naive.query(panes(SLIDING)),
    naive.query(joined(SLIDING)),
    naive.query(forwarding(SLIDING)),
    chain(WINDOW, Window(advance=3, size=5)),
)


@pytest.mark.parametrize("program", GOOD, ids=lambda program: program.operators[0].name)
def test_good_queries_pass(program: Query):
    report = check(program, examples=examples(40))
    assert report.ok, report.render()
    assert len(report.checked) == 4 + len(program.operators)


def broken(operator: Operator, **changes: Any) -> ConsistencyReport:
    return check(naive.query(replace(operator, **changes)), examples=ENOUGH)


def conditions(report: ConsistencyReport) -> set[str]:
    return {violation.condition for violation in report.violations}


def test_keys_that_depend_on_earlier_tuples_are_caught():
    seen: list[int] = []

    def keys(t: Any, out: Any) -> None:
        seen.append(t.ts)
        out.add(len(seen) % 3)

    report = broken(naive.counting(WINDOW), keys=keys)
    assert "keys" in conditions(report)
    assert "the keys of a tuple change from call to call" in report.render()


@pytest.mark.full
def test_keys_that_are_no_integers_of_64_bits_are_caught():
    for key in (0.5, 2**63, "a"):
        report = broken(naive.counting(WINDOW), keys=lambda t, out, key=key: out.add(key))
        assert "keys" in conditions(report)
        assert "a key is not an integer of 64 bits" in report.render()


def test_an_update_that_emits_without_saying_so_is_caught():
    report = broken(naive.counting(WINDOW), update=lambda w, t, out: out.emit(0, 0, 0))
    assert "emits" in conditions(report)
    assert "emits_on_update is not set" in report.render()


def twice(w: Any, *args: Any) -> None:
    for _ in range(2):
        args[-1].emit(w[0].key, 0, 0)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("operator", "changes", "function"),
    [
        (naive.counting(WINDOW), {"expire": twice}, "expire"),
        (forwarding(SLIDING), {"update": twice}, "update"),
    ],
)
def test_more_records_than_declared_are_caught(operator, changes, function):
    report = broken(operator, **changes)
    assert conditions(report) == {"emits"}
    assert f"{function} emits more than 1 records; raise max_outputs" in report.render()
    assert broken(operator, max_outputs=2, **changes).ok


def test_a_join_that_emits_more_than_declared_is_caught():
    operator = joined(SLIDING)
    assert operator.join is not None

    def emit(first: Any, second: Any, out: Any) -> None:
        out.emit(0, 0)
        out.emit(0, 0)

    report = broken(operator, join=replace(operator.join, emit=emit))
    assert conditions(report) == {"emits"}


def test_a_state_outside_the_windows_is_caught():
    total = [0]

    def update(w: Any, t: Any, out: Any) -> None:
        total[0] += 1
        w[0].count = total[0]

    report = broken(naive.counting(WINDOW), update=update)
    assert {"repeat", "split"} <= conditions(report)
    assert "a second run gives another answer" in report.render()


@pytest.mark.full
def test_keys_that_read_each_other_are_caught():
    def fresh() -> dict[int, int]:
        return {}

    latest = fresh()

    def update(w: Any, t: Any, out: Any) -> None:
        # Reads what another key of the same tuple has just left: whoever owns that one.
        if latest.get(t.ts, w[0].key) != w[0].key:
            w[0].count += 1
        latest.clear()
        latest[t.ts] = w[0].key

    report = broken(naive.counting(WINDOW), update=update)
    assert "split" in conditions(report)


def test_a_chain_whose_second_operator_minds_the_order_of_ties_is_caught():
    def update(w: Any, t: Any, out: Any) -> None:
        w[0].total = 2 * w[0].total + t.key_

    first, second = chain(WINDOW, Window(advance=3, size=5)).operators
    report = check(naive.query(first, replace(second, update=update)), examples=ENOUGH)
    assert conditions(report) == {"split"}
    assert "instances: [" in report.render()


@pytest.mark.full
def test_outputs_out_of_order_are_caught():
    # What the operator itself refuses to be declared as; made here behind its back.
    operator = forwarding(SLIDING)
    object.__setattr__(operator, "window", WINDOW)
    report = check(naive.query(operator), examples=ENOUGH)
    assert "sorted" in conditions(report)
    assert "an output is timed before an earlier one" in report.render()


def test_an_error_of_the_model_in_a_call_is_placed_at_the_call():
    def expire(w, out):
        out.emit(1, 2, 3, 4, 5)

    report = broken(naive.counting(WINDOW), expire=expire)
    assert not report.ok
    assert f", in expire ({__file__}:" in report.render()
