"""`check` names the laws that hold only up to rounding, by how much, with an example."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from streamlab.workloads.model import Dataflow
from streamlab.workloads.model.check import check
from streamlab.workloads.model.dataflow import Flow, OpKeyedUnordered, U, of_events
from streamlab.workloads.model.dgs.rounding import Rounding, in_tenths
from streamlab.workloads.model.streams.records import record_type
from tests.workloads.model.dataflow.parts import AVG, of_loads
from tests.workloads.model.float_programs import EXACTLY, ROUNDED

LOAD = np.dtype([("load", np.float64)])
SUM = np.dtype([("sum", np.float64)])


def summing() -> Dataflow:
    """Return a graph with the sum of all loads of each block."""

    def take(a: Any, key: Any, value: Any) -> None:
        a.sum = value.load

    def combine(x: Any, y: Any, into: Any) -> None:
        into.sum = x.sum + y.sum

    def update_state(s: Any, agg: Any) -> None:
        s.sum = agg.sum

    def give(s: Any, key: Any, m: Any, out: Any) -> None:
        out.emit(m.ts, s.sum)

    flow = Flow("block_sums", markers=10)
    total = OpKeyedUnordered(
        name="total",
        reads=of_events(LOAD),
        gives=U(None, np.dtype([("ts", np.int64), ("sum", np.float64)])),
        aggregate=SUM,
        state=SUM,
        take=take,
        combine=combine,
        update_state=update_state,
        on_marker=give,
    )
    return flow.gives(flow.add(total, flow.source("report", LOAD)))


def test_a_join_that_rounds_is_named_with_its_largest_difference_and_an_example():
    report = check(ROUNDED, examples=20)
    assert report.ok
    first, *others = report.rounding
    assert first.startswith(
        "rounds: the join of box -> (box, box) does not associate in floating point: the largest "
        "relative difference of 20 histories is "
    )
    assert 1e-16 < float(first.splitlines()[0].rpartition(" ")[2]) < 1e-15
    before, after = first.splitlines()[-2:]
    assert before.startswith("      then join: box(sum=")
    assert after.startswith("      after join: box(sum=")
    assert before.partition("sum=")[2] != after.partition("sum=")[2]
    assert any("events of box do not commute in floating point" in words for words in others)
    assert "with streamlab.workloads.model.exact_sum they are equal bit for bit" in report.render()


def test_an_exact_sum_does_not_round():
    report = check(EXACTLY, examples=5)
    assert report.ok
    assert report.rounding == ()
    assert "rounding" not in report.render()


@pytest.mark.full
def test_an_integer_that_rounding_changes_breaks_the_law():
    def join(one: Any, two: Any, box: Any) -> None:
        box.sum = one.sum + two.sum
        box.tenths = int(box.sum * 10)

    def update(box: Any, event: Any, out: Any) -> None:
        ROUNDED.states[0].update(box, event, out)
        box.tenths = int(box.sum * 10)

    def fork(box: Any, first: Any, second: Any, one: Any, two: Any) -> None:
        ROUNDED.parallel[0].fork(box, first, second, one, two)
        one.tenths = int(one.sum * 10)
        two.tenths = int(two.sum * 10)

    state = np.dtype([("sum", np.float64), ("tenths", np.int64)])
    program = replace(
        ROUNDED,
        states=(replace(ROUNDED.states[0], dtype=state, update=update),),
        parallel=(replace(ROUNDED.parallel[0], fork=fork, join=join),),
    )
    report = check(program, examples=20)
    broken = [(found.condition, found.where) for found in report.violations]
    assert ("C1", "box -> (box, box), with numbers that round") in broken


@pytest.mark.full
def test_a_combine_that_rounds_is_named():
    report = check(summing(), examples=8)
    assert report.ok, report.render()
    assert len(report.rounding) == 1  # it commutes
    assert report.rounding[0].startswith(
        "rounds: the combine of total does not associate in floating point"
    )
    assert "left side: aggregate(sum=" in report.rounding[0]


def test_a_combine_of_integers_is_not_tried():
    assert check(of_loads(AVG), examples=5).rounding == ()


def test_only_floats_differ_by_rounding():
    rounding = Rounding()
    assert rounding.equal((1, 0.1 + 0.2), (1, 0.3))
    assert 0 < rounding.largest < 2e-16
    assert not rounding.equal((1, 0.3), (2, 0.3))
    assert not rounding.equal((0.3,), (0.4,))
    assert not rounding.equal((0.3,), (0.3, 0.3))
    assert not rounding.equal((0.3,), (float("nan"),))
    assert rounding.equal((float("nan"), float("inf")), (float("nan"), float("inf")))
    assert not rounding.equal((float("inf"),), (float("-inf"),))
    assert not Rounding(unequal=rounding.largest).equal(0.1 + 0.2, 0.3)


def test_floats_of_items_become_tenths():
    value = record_type(("plug", "load"))(3, 7, 2.0)
    assert in_tenths(value) == (3, 7, 0.2)
