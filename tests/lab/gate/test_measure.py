"""The order of a gate's trials, and when a cell is not run further; its trials are scripted."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from streamlab.lab.gate.arm import Arm
from streamlab.lab.gate.metrics import Pair, TrialResult
from streamlab.lab.gate.trials import Bench, Work, is_measurable, measure
from streamlab.lab.load.spec import LoadSpec
from tests.lab.engine_trial import engine_trial

OLD, NEW = (
    Arm(name=name, revision=name, python=Path("python"), path=(), tree=Path()) for name in "AB"
)
LOAD = LoadSpec(rate_eps=1000, warm_up_s=0, window_s=1)


def work(load=None):
    return Work(key="a", slug="a", timeout_s=60, job=engine_trial(load=load))


@dataclass(frozen=True, kw_only=True)
class Scripted(Bench):
    """A bench whose new arm has a status for each cell; it records the trials that it runs."""

    statuses: dict = field(default_factory=dict)
    order: list = field(default_factory=list)

    def run(self, arm, cell_id):
        self.order.append((cell_id, arm.name))
        return TrialResult(status=self.statuses.get(cell_id, "ok") if arm is NEW else "ok")


def order_of(load, n):
    bench = Scripted(works={"a": work(load)}, logs=Path())
    pair = measure(bench, OLD, NEW, ["a"], n, lambda words: None)["a"]
    return "".join(arm for _, arm in bench.order), pair


def test_catch_up_runs_in_the_order_abba():
    order, pair = order_of(None, 6)
    assert order == "ABBAABBAABBA" and not pair.same_load


def test_trials_under_a_load_are_pairs_in_an_order_by_lot():
    order, pair = order_of(LOAD, 64)
    pairs = Counter(order[k : k + 2] for k in range(0, len(order), 2))
    # Fewer than 10 of 64 come about once in ten million tries.
    assert set(pairs) == {"AB", "BA"} and min(pairs.values()) >= 10
    assert pair.same_load and (len(pair.old), len(pair.new)) == (64, 64)


@pytest.mark.parametrize(
    ("status", "trials"),
    [("wrong_output", 1), ("crash", 1), ("timeout", 4), ("invalid", 4), ("unsustained", 10)],
)
def test_a_cell_is_run_until_it_can_give_no_number(status, trials):
    bench = Scripted(works={"bad": work(), "good": work()}, logs=Path(), statuses={"bad": status})
    found = measure(bench, OLD, NEW, ["bad", "good"], 10, lambda words: None)
    assert (len(found["bad"].old), len(found["bad"].new)) == (trials, trials)
    assert len(found["good"].new) == 10


@pytest.mark.parametrize(
    ("old", "new", "goes_on"),
    [
        ("ok", "ok", True),
        ("ok", "timeout", True),
        ("unsteady", "unsustained", True),
        ("timeout", "timeout", False),
        ("ok", "wrong_output", False),
        ("unsupported", "ok", False),
    ],
)
def test_cells_go_on_after_the_first_trials_unless_a_fault_is_seen(old, new, goes_on):
    pair = Pair(old=[TrialResult(status=old)], new=[TrialResult(status=new)])
    assert is_measurable(pair) == goes_on
