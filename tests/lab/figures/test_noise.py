"""Error rates of verdicts under noise: within their promise, and few useless repetitions.

A verdict is wrong when it is met, and the claim is truly missed, or the other way round; when it is
of a figure, and another one than that of the same run without noise. Inconclusive is never wrong.
"""

import dataclasses
import json

import msgspec
import numpy as np
import pytest

from streamlab.lab.figures.judge import PublishedClaim, judge
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.registry import find
from streamlab.lab.figures.verdict import (
    CONTRADICTED,
    INCONCLUSIVE,
    MET,
    MISSED,
    REPRODUCED,
    conclude,
)
from streamlab.results.stats.estimates import cell_median, ratio
from tests.lab.figures.sample_trials import AS_PUBLISHED, LATE, pace, trials
from tests.results.stats.noise import factors

pytestmark = pytest.mark.usefixtures("opponents_are_here")
TWO = Options(cores=2)
WRONG = 0.05
POWER = 0.8
DRAWS = 200
OUTSIDE = 1e-6
"""A share by which a truth is out of bounds: nothing measured could tell it from one within."""

asked = PublishedClaim(text="t", published="p", source="s")
RULES = {
    "near, low": (lambda m: asked.near(m, 2.0, 2.5, 0.2), 1.6, -1),
    "near, high": (lambda m: asked.near(m, 2.0, 2.5, 0.2), 3.0, 1),
    "at_most": (lambda m: asked.at_most(m, 40.0), 40.0, 1),
    "at_least": (lambda m: asked.at_least(m, 2.0), 2.0, -1),
    "shape, low": (lambda m: asked.shape(m, 0.8, 1.25), 0.8, -1),
    "shape, high": (lambda m: asked.shape(m, 0.8, 1.25), 1.25, 1),
}
"""A claim, a bound of it, and on which side of that it is missed."""


def outcomes(rng, pose, truth, cv, n, draws=DRAWS):
    """The outcomes of a claim on a quotient of two cells, and on one cell."""
    found = []
    for above, below in factors(rng, cv, (draws, 2, n)).tolist():
        quotient = ratio(cell_median(above, truth), cell_median(below))
        found += [
            claim.outcome
            for m in (quotient, cell_median(above, truth))
            for claim in judge([pose(m)])
        ]
    return found


@pytest.mark.pairwise
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("cv", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("n", [3, 5, 8, 12])
def test_a_claim_at_its_bound_is_judged_wrongly_in_one_of_20_at_most(name, cv, n):
    pose, bound, side = RULES[name]
    rng = np.random.default_rng((n, round(cv * 100), len(name)))
    on_it = outcomes(rng, pose, bound, cv, n)
    beyond = outcomes(rng, pose, bound * (1 + side * OUTSIDE), cv, n)
    assert on_it.count(MISSED) <= WRONG * len(on_it)
    assert beyond.count(MET) <= WRONG * len(beyond)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("n", [5, 6, 12])
def test_a_claim_a_fifth_from_its_bound_is_mostly_decided(name, n):
    pose, bound, side = RULES[name]
    rng = np.random.default_rng((n, len(name)))
    for away, outcome in ((1.2**side, MISSED), (1.2**-side, MET)):
        found = outcomes(rng, pose, bound * away, 0.03, n)
        assert found.count(outcome) >= POWER * len(found)
        assert set(found) <= {outcome, INCONCLUSIVE}


COSTS = ("latency_p50_ns", "duration_s", "processing_mean_ns", "processing_p50_ns",
         "1_sl-0_cost_ns", "1_ps-0_cost_ns", "graph_cpu_s_per_mtuple")  # fmt: skip


def noisy(run, rng, cv):
    """The run with noise on what takes time: each trial's quantities have their own."""

    def numbers(row):
        made = {"throughput_eps": 1.0} | dict.fromkeys(COSTS, 1.0)
        return {key: float(f) for key, f in zip(made, factors(rng, cv, len(made)), strict=True)}

    rows = []
    for row in run.rows:
        times = numbers(row)
        changed = {
            key: value * times[key]
            for key in ("latency_p50_ns", "duration_s")
            if (value := getattr(row, key))
        }
        if row.throughput_eps:
            changed["throughput_eps"] = row.throughput_eps / times["throughput_eps"]
        own = json.loads(row.counters or "{}")
        own = {key: value * times.get(key, 1.0) for key, value in own.items()}
        rows.append(msgspec.structs.replace(row, **changed, counters=json.dumps(own)))
    return dataclasses.replace(run, rows=tuple(rows))


def verdicts(figure_id, runs, rng, cv, draws):
    """The verdict without noise, and those with it."""
    figure = find(figure_id)
    true = conclude(figure.outcome(TWO, runs).claims).verdict
    assert true != INCONCLUSIVE
    found = [
        conclude(figure.outcome(TWO, [noisy(run, rng, cv) for run in runs]).claims).verdict
        for _ in range(draws)
    ]
    return true, found


def buffers(row, make_run, gain, late, n):
    """A run of figure 12 or 14 in which one buffer is `gain` times as fast, for all claims."""

    def make(figure_id):
        def numbers(cell, label):
            one_worker, lock = cell.workers == 1, label == "lock"
            cost = {"1_sl-0_cost_ns": 1e4 * (late if lock and not one_worker else 1.0)}
            speed = 1.0 if one_worker else 1.9 if lock else 1.9 * gain
            return pace(1e5 * speed, 1.0, **cost)

        return (make_run(trials(row, figure_id, TWO, numbers), repetitions=n),)

    return make


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("figure_id", ["ordered:12", "ordered:14"])
@pytest.mark.parametrize(
    ("gain", "true"), [(0.97, REPRODUCED), (0.97 * (1 - OUTSIDE), CONTRADICTED)]
)
@pytest.mark.parametrize(("cv", "n"), [(0.01, 3), (0.03, 5), (0.1, 8)])
def test_a_figure_at_the_bounds_of_all_its_claims_has_one_wrong_verdict_in_20_at_most(
    row, make_run, figure_id, gain, true, cv, n
):
    runs = buffers(row, make_run, gain, gain, n)(figure_id)
    rng = np.random.default_rng((n, len(true)))
    without, found = verdicts(figure_id, runs, rng, cv, 40)
    assert without == true
    assert sum(verdict not in (true, INCONCLUSIVE) for verdict in found) <= WRONG * len(found)


@pytest.mark.parametrize(("gain", "true"), [(1.2, REPRODUCED), (0.77, CONTRADICTED)])
def test_a_figure_with_a_clear_answer_mostly_has_its_verdict(row, make_run, gain, true):
    runs = buffers(row, make_run, gain, gain, 8)("ordered:12")
    without, found = verdicts("ordered:12", runs, np.random.default_rng(3), 0.03, 40)
    assert without == true
    assert found.count(true) >= POWER * len(found)


def test_two_trials_a_cell_have_no_verdict_whatever_they_show(row, make_run):
    """It was seen: reproduced and then contradicted, by few trials of one program."""
    runs = buffers(row, make_run, 0.97, 0.97, 2)("ordered:12")
    figure, rng = find("ordered:12"), np.random.default_rng(4)
    made = [conclude(figure.outcome(TWO, [noisy(runs[0], rng, 0.03)]).claims) for _ in range(20)]
    assert {verdict.verdict for verdict in made} == {INCONCLUSIVE}
    assert {verdict.indicates for verdict in made} == {REPRODUCED, CONTRADICTED}


def test_worst_of_many_cells_keeps_the_promise(row, make_run):
    """Figure 8 of the ordered pipelines: lowest and highest over five queries and four rivals."""

    def numbers(cell, label):
        rates = AS_PUBLISHED | {"et": 1e6 * 0.97, "lp": 1e6 / 0.95, "qst": 1e6 * 0.97}
        growth = 1.6 if cell.workers > 1 else 1.0  # 0.8 of linear: the bound
        return pace(rates[label] * growth, LATE[label])

    runs = (make_run(trials(row, "ordered:8", TWO, numbers), repetitions=5),)
    true, found = verdicts("ordered:8", runs, np.random.default_rng(5), 0.03, 25)
    assert sum(verdict not in (true, INCONCLUSIVE) for verdict in found) <= 1
