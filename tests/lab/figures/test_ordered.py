"""The figures of the ordered pipelines: their experiments, and what they say of known numbers."""

import pytest

from streamlab.lab.figures.options import Options
from streamlab.lab.figures.ordered import queues, reordering
from streamlab.lab.figures.ordered.paper_setup import QUERIES
from streamlab.lab.figures.registry import find
from streamlab.lab.figures.verdict import (
    CONTRADICTED,
    MET,
    MISSED,
    NOT_JUDGED,
    REPRODUCED,
    conclude,
)
from tests.lab.figures.claims import cells_of, judged, outcomes
from tests.lab.figures.sample_trials import AS_PUBLISHED, LATE, pace, trials

TWO = Options(cores=2)
QUICK = Options(cores=2, quick=True)
FIGURES = [f"ordered:{number}" for number in range(8, 15)]


@pytest.mark.parametrize("figure_id", FIGURES)
def test_a_quick_figure_has_few_cells(figure_id):
    assert len(cells_of(figure_id, QUICK)) <= 30


@pytest.fixture
def judge(row, make_run):
    """A function that gives the outcome of a figure whose trials have these numbers."""

    def outcome(figure_id, numbers, options=TWO):
        runs = (make_run(trials(row, figure_id, options, numbers)),)
        return find(figure_id).outcome(options, runs)

    return outcome


@pytest.fixture
def heuristics(judge):
    """The outcome of figure 8 with given rates (of one worker) and latencies."""

    def make(rates, late, growth=1.9, options=TWO):
        def numbers(cell, label):
            return pace(rates[label] * (growth if cell.workers > 1 else 1), late[label])

        return judge("ordered:8", numbers, options)

    return make


@pytest.mark.parametrize("options", [TWO, QUICK])
def test_heuristics_as_published_reproduce_figure_8(heuristics, options):
    outcome = heuristics(AS_PUBLISHED, LATE, options=options)
    assert conclude(outcome.claims).verdict == REPRODUCED, outcome.claims
    assert outcome.draw().axes


def test_figure_8_is_contradicted_when_another_heuristic_is_faster(heuristics):
    outcome = heuristics(AS_PUBLISHED | {"qst": 1.2e6}, LATE)
    assert outcomes(outcome, "CT has the best throughput") == {MISSED}
    assert outcomes(outcome, "ET and QST do not reach") == {MISSED}
    assert conclude(outcome.claims).verdict == CONTRADICTED


def test_figure_8_misses_growth_and_latency_apart(heuristics):
    outcome = heuristics(AS_PUBLISHED, LATE, growth=1.3)
    assert outcomes(outcome, "CT grows almost linearly") == {MISSED}
    assert outcomes(outcome, "LP has the lowest latency") == {MET}
    slow = heuristics(AS_PUBLISHED, LATE | {"lp": 40.0})
    assert outcomes(slow, "LP has the lowest latency") == {MISSED}
    assert outcomes(slow, "LP's latency, lowest") == {MISSED}
    assert outcomes(slow, "CT grows almost linearly") == {MET}


def test_growth_beyond_that_of_the_paper_is_not_required():
    text = [c.text for c in find("ordered:8").outcome(
        Options(cores=16, workers=(1, 8, 16)), (EmptyRun(),)).claims]  # fmt: skip
    assert len([t for t in text if "almost linearly" in t]) == 5


class EmptyRun:
    rows = ()


def skewed(judge, hybrid, partitioned, three):
    """The outcome of figure 9; speedups of two workers by sigma."""

    def numbers(cell, label):
        if cell.workers == 1:
            return {"rate": 1e5}
        by_sigma = hybrid if label == "hybrid" else three if "-p3/" in cell.id else partitioned
        return {"rate": 1e5 * by_sigma[cell.entry.params["sigma"]]}

    return judge("ordered:9", numbers)


EVEN = dict.fromkeys(queues.SIGMAS, 1.9)


def test_skew_that_stops_only_the_partitioned_queue_reproduces_figure_9(judge):
    outcome = skewed(judge, EVEN, EVEN, EVEN | {0.1: 1.0, 0.2: 1.2})
    assert conclude(outcome.claims).verdict == REPRODUCED, outcome.claims
    (hybrid,) = (v for k, v in outcome.numbers["2 workers"].items() if "hybrid" in k)
    assert hybrid["0.1"]["median"] == pytest.approx(1.9)
    assert outcome.draw().axes


def test_skew_that_stops_no_queue_or_the_hybrid_queue_contradicts_figure_9(judge):
    nobody = skewed(judge, EVEN, EVEN, EVEN)
    assert outcomes(nobody, "loses speedup") == {MISSED}
    assert conclude(nobody.claims).verdict == CONTRADICTED
    both = skewed(judge, EVEN | {0.1: 1.1}, EVEN, EVEN | {0.1: 1.0})
    assert outcomes(both, "performs consistently") == {MISSED}


def test_two_halves_of_the_keys_have_no_skew_so_a_third_partition_is_measured():
    assert queues.splits(2) == (2, 3)
    assert queues.splits(4) == (4,)
    parts = {cell.id.partition("-p")[2].partition("/")[0] for cell in cells_of("ordered:9", TWO)}
    assert parts == {"100", "2", "3"}


@pytest.mark.parametrize(
    ("hybrid", "partitioned", "expected"),
    [(1.2, 20.0, {MET}), (8.0, 20.0, {MET, MISSED}), (1.2, 1.0, {MET, MISSED})],
)
def test_figure_10_sets_latency_beside_cost(judge, hybrid, partitioned, expected):
    def numbers(cell, label):
        ms = cell.query["iterations"]
        own = float(ms) * 2e-6
        late = own * (hybrid if label == "hybrid" else partitioned)
        rare = {"processing_p50_ns": late * 1e6, "1_ps-0_cost_ns": own * 1e6}
        return pace(1e4, 1000.0, **rare)

    outcome = judge("ordered:10", numbers)
    assert set(judged(outcome).values()) == expected
    assert outcome.draw().axes


def test_figure_10_has_the_published_costs():
    assert queues.costs() == (10, 100, 1000, 10_000)
    per_cost = {cell.query["iterations"] for cell in cells_of("ordered:10", TWO)}
    assert per_cost == {"5000", "50000", "500000", "5000000"}


def test_a_hybrid_queue_that_gains_with_partitioned_operators_reproduces_figure_11(judge):
    more = {query.workload: query.partitioned for query in QUERIES}

    def numbers(cell, label):
        gain = 0.5 + 0.5 * more[cell.entry.name] + 0.1 if label == "hybrid" else 1.0
        return pace(1e6 * gain, 1.0 if label == "hybrid" else 2.0)

    outcome = judge("ordered:11", numbers)
    assert conclude(outcome.claims).verdict == REPRODUCED, outcome.claims
    assert outcome.draw().axes


def test_figure_11_judges_the_papers_form_and_not_this_labs(judge):
    def numbers(cell, label):
        faster = label in ("partitioned", "source-hybrid")
        return pace(2e6 if faster else 1e6, 1.0 if faster else 2.0)

    outcome = judge("ordered:11", numbers)
    assert outcomes(outcome, "hybrid queue's throughput") == {MISSED}
    for batch in (1, 64):
        own = outcome.numbers[f"query 1, source-hybrid, batch {batch}"]
        assert own["throughput_eps"]["median"] == 2e6


@pytest.mark.parametrize("figure_id", ["ordered:11", "ordered:13", "ordered:14"])
def test_both_forms_are_measured_and_only_the_papers_is_judged(row, make_run, figure_id):
    serials = {}
    for cell in cells_of(figure_id, TWO):
        label = cell.id.split("/")[5]
        own = label.startswith("source-")
        assert cell.options.get("serials", "source") == ("source" if own else "operator")
        serials.setdefault(own, set()).add((label.removeprefix("source-"), cell.batch))
    assert serials[False] < serials[True] and {batch for _, batch in serials[False]} == {1}
    rows = [
        r
        for r in trials(row, figure_id, TWO, lambda cell, label: pace(1e6, 1.0))
        if "/source-" in r["cell"]
    ]
    outcome = find(figure_id).outcome(TWO, (make_run(rows),))
    assert {claim.outcome for claim in outcome.claims} == {NOT_JUDGED}
    sides = {side.algorithm for c in outcome.claims for side in (c.system, c.opponent)}
    assert all(algorithm.endswith("; a serial number for each operator") for algorithm in sides)


@pytest.mark.parametrize(("gain", "outcome"), [(1.3, MET), (0.98, MET), (0.9, MISSED)])
def test_figure_14_judges_every_query(judge, gain, outcome):
    def numbers(cell, label):
        return pace(1e6 * (gain if label == "nonblocking" else 1.0), 1.0)

    found = judge("ordered:14", numbers)
    assert outcomes(found, "ratio of throughput") == {outcome}
    assert outcomes(found, "ratio of latency") == {MET}


@pytest.mark.parametrize("number", ["12", "13"])
@pytest.mark.parametrize(
    ("lock_speed", "lock_us", "expected"),
    [(1.2, 30.0, {MET}), (1.95, 10.0, {MISSED}), (1.5, 10.0, {MET, MISSED})],
)
def test_reordering_is_judged_by_speedup_and_cost(judge, number, lock_speed, lock_us, expected):
    def numbers(cell, label):
        one, lock = cell.workers == 1, label == "lock"
        return {
            "rate": 1e5 * (1.0 if one else lock_speed if lock else 1.8),
            "counters": {"1_sl-0_cost_ns": 1e4 if one else lock_us * 1e3 if lock else 1.1e4},
        }

    outcome = judge(f"ordered:{number}", numbers)
    assert set(judged(outcome).values()) == expected
    assert outcome.draw().axes


def test_reordering_is_measured_with_more_workers_than_cores_unless_chosen():
    assert {cell.workers for cell in cells_of("ordered:12", TWO)} == {1, 2, 4}
    chosen = Options(cores=2, workers=(2, 8))
    assert {cell.workers for cell in cells_of("ordered:13", chosen)} == {1, 2, 8}


def test_a_chosen_scale_makes_inputs_shorter_and_is_stated(judge):
    half = Options(cores=2, scale=0.5)
    usual, short = (cells_of("ordered:9", options)[0].entry.events for options in (TWO, half))
    assert short == usual // 2
    outcome = judge("ordered:9", lambda cell, label: pace(1e5, 1.0), half)
    assert any("Scale 0.5" in note for note in outcome.notes)


def test_costs_in_time_are_nominal_iterations():
    (light, heavy) = (
        next(c for c in cells_of("ordered:12", TWO) if name in c.id) for name in ("light", "c10")
    )
    assert (light.query["iterations"], heavy.query["iterations"]) == ("50", "5000")
    assert reordering.MANY.setups[0].selectivity == "50,1"
