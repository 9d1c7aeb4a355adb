"""`lab check` on events across keys: correct programs pass, and broken laws are found."""

from dataclasses import replace

import numpy as np
import pytest

from streamlab.workloads.model import Alphabet
from streamlab.workloads.model.check import check
from streamlab.workloads.model.dgs.optimizer import choose_plan
from streamlab.workloads.model.dgs.plan_text import plan_text
from streamlab.workloads.model.dgs.stream_profile import StreamProfile
from tests.across import PLUGS, READ, RESET


def with_update(index, update, **change):
    across = list(PLUGS.across)
    across[index] = replace(across[index], update=update, **change)
    return replace(PLUGS, across=tuple(across))


def violation_of(program, condition):
    report = check(program, examples=40)
    (violation,) = [each for each in report.violations if each.condition == condition]
    return violation


def test_a_program_that_keeps_the_laws_passes():
    report = check(PLUGS, examples=20)
    assert report.ok
    assert {"time for house", "time for slice", "plans for plugs"} <= set(report.checked)


@pytest.mark.full
def test_an_output_at_another_time_is_found():
    def late(own, members, event, out):
        out.emit(event.ts + 1, 0, 0, 0, 0)

    violation = violation_of(with_update(0, late), "time")
    assert violation.where == "house"
    assert violation.law == "an output does not carry the timestamp of the event that caused it"
    assert violation.lines == (
        "event house(ts=0, key=0, value=0)",
        "outputs of the last: [(1, 0, 0, 0, 0)]",
    )


def test_more_outputs_than_declared_are_found():
    def twice(own, members, event, out):
        for i in range(len(members)):
            out.emit(event.ts, 0, members.key(i), 0, 0)
            out.emit(event.ts, 0, members.key(i), 0, 0)

    violation = violation_of(with_update(1, twice), "time")
    assert violation.where == "slice"
    assert violation.law == "an event emits 2 records, 1 are declared"


@pytest.mark.full
def test_an_output_of_the_wrong_width_is_found():
    def narrow(own, members, event, out):
        out.emit(event.ts, 0)

    violation = violation_of(with_update(0, narrow), "time")
    assert violation.law == "an output does not have the declared 5 fields"


@pytest.mark.full
def test_a_fork_that_loses_state_read_across_keys_is_found():
    def fork(plug, pred1, pred2, first, second):
        side = second if pred2[RESET] else first
        side.count = plug.count

    program = replace(PLUGS, parallel=(replace(PLUGS.parallel[0], fork=fork),))
    violation = violation_of(program, "plans")
    assert violation.law == "a plan gives another answer than the events in sequence"
    assert any(line.startswith("only in sequence") for line in violation.lines)


def test_the_text_of_a_plan_lists_the_states_above_its_trees():
    counts = np.array([[5 * (kind == READ) for kind in range(4)]] * 4)
    stream = StreamProfile(name="all", kinds=(0, 2, 3), counts=counts)
    plan = choose_plan(PLUGS, Alphabet(kinds=PLUGS.kinds, keys=4), [stream], 2)
    text = plan_text(plan)
    assert "above the trees: house of the keys of a group, 2 groups (house)" in text
    assert "above the trees: slice of every key (slice)" in text
