import numpy as np
import pytest

from streamlab.results.stats.decision import (
    ONE_STAGE,
    TWO_STAGE,
    Arms,
    GateVerdict,
    Rule,
    confirm,
    decide_once,
    screen,
    suspects,
    values_needed,
)
from streamlab.results.stats.noise import noise_of, resampled_noise

QUICK = Rule(draws=200)
CELL = ("event_window/multicore/dgs/w2", "wall")


def arms(rng, *, sd=0.03, slower=0.0, n=10):
    return Arms(
        old=tuple(np.exp(rng.normal(0, sd, n))),
        new=tuple((1 + slower) * np.exp(rng.normal(0, sd, n))),
    )


def two_stages(rng, effects, *, sd=0.03, rule=QUICK):
    """The verdicts of a suite whose cells are slower by `effects`."""

    def measure(keys):
        return {key: arms(rng, sd=sd, slower=effects[key[0]], n=rule.n) for key in keys}

    first = screen(measure([(name, "wall") for name in effects]), rule, rng)
    return {f.key[0]: f.verdict for f in confirm(first, measure(suspects(first)), rule, rng)}


def test_a_suite_without_a_change_raises_an_alarm_in_at_most_one_of_a_hundred():
    rng = np.random.default_rng(1)
    suites, cells = 400, 10
    alarms = sum(
        GateVerdict.REGRESSION
        in two_stages(rng, dict.fromkeys(map(str, range(cells)), 0.0)).values()
        for _ in range(suites)
    )
    # At a true rate of 1 %, more than 11 of 400 would be seen in one of 1,400 tries.
    assert alarms <= 11


@pytest.mark.parametrize(("sd", "slower", "power"), [(0.03, 0.10, 0.97), (0.01, 0.05, 0.97)])
def test_a_real_slow_down_is_seen(sd, slower, power):
    rng = np.random.default_rng(2)
    trials = 200
    seen = sum(
        two_stages(rng, {"a": slower}, sd=sd)["a"] is GateVerdict.REGRESSION for _ in range(trials)
    )
    assert seen / trials >= power


def test_a_clear_change_below_the_floor_is_not_called():
    rng = np.random.default_rng(3)
    found = screen({CELL: arms(rng, sd=0.0005, slower=0.015)}, TWO_STAGE, rng)[0]
    assert found.first.p_worse < 1e-4
    assert found.first.floor == 0.02
    assert found.verdict is GateVerdict.UNCHANGED


def test_a_noisy_cell_has_a_higher_floor():
    rng = np.random.default_rng(4)
    found = screen({CELL: arms(rng, sd=0.10)}, TWO_STAGE, rng)[0]
    assert found.first.floor == pytest.approx(2 * found.first.noise.mad)
    assert found.first.floor > 0.02


def test_a_cell_whose_noise_hides_five_percent_is_unstable():
    rng = np.random.default_rng(5)
    verdicts = [screen({CELL: arms(rng, sd=0.15)}, TWO_STAGE, rng)[0].verdict for _ in range(20)]
    assert verdicts.count(GateVerdict.UNSTABLE) >= 16
    assert GateVerdict.UNCHANGED not in verdicts


PASSING = {GateVerdict.UNCHANGED, GateVerdict.UNCONFIRMED, GateVerdict.IMPROVED}


@pytest.mark.parametrize(
    ("n", "sd", "slower"), [(4, 0.4, 1.0), (4, 0.01, 0.05), (10, 0.03, 0.05), (10, 0.4, 0.3)]
)
def test_a_cell_that_is_slower_passes_in_at_most_one_of_twenty_gates(n, sd, slower):
    rng = np.random.default_rng(17)
    gates, rule = 100, Rule(n=n, draws=50)
    passed = [two_stages(rng, {"a": slower}, sd=sd, rule=rule)["a"] for _ in range(gates)]
    # At a true rate of 5 %, more than 12 of 100 would be seen in one of 700 tries.
    assert sum(verdict in PASSING for verdict in passed) <= 12


@pytest.mark.parametrize(("n", "sd"), [(4, 0.005), (10, 0.01)])
def test_a_steady_cell_without_a_change_passes(n, sd):
    rng = np.random.default_rng(18)
    gates, rule = 50, Rule(n=n, draws=50)
    passed = [two_stages(rng, {"a": 0.0}, sd=sd, rule=rule)["a"] for _ in range(gates)]
    assert sum(verdict in PASSING for verdict in passed) >= 48


def test_one_slow_process_of_four_is_not_hidden_by_the_medians():
    arms = Arms(old=(1.0, 1.001, 1.002, 1.003), new=(1.0005, 1.0015, 1.2, 1.0025))
    found = screen({CELL: arms}, TWO_STAGE, np.random.default_rng(19))[0]
    assert found.verdict is GateVerdict.UNSTABLE and not found.first.excludes


def test_a_suspicion_that_a_noisy_second_stage_does_not_settle_is_unstable():
    rng = np.random.default_rng(20)
    twice = Arms(old=(1.0, 1.1, 1.2, 1.3), new=(2.0, 2.1, 2.3, 2.6))
    noisy = Arms(old=(1.0, 1.1, 1.2, 2.4), new=(1.3, 2.1, 2.3, 1.05))
    first = screen({CELL: twice}, TWO_STAGE, rng)
    assert suspects(first) == (CELL,)
    assert confirm(first, {CELL: noisy}, TWO_STAGE, rng)[0].verdict is GateVerdict.UNSTABLE


@pytest.mark.parametrize("values", [(1.0, 1.0, 1.0, 1.0), (1.0, 2.0, 3.0, 4.0), (5e-9,) * 10])
@pytest.mark.parametrize("size", [0.05, 0.051, 1.0, 1e6])
def test_a_change_of_the_size_that_is_looked_for_is_never_excluded(values, size):
    arms = Arms(old=values, new=tuple((1 + size) * value for value in values))
    found = screen({CELL: arms}, TWO_STAGE, np.random.default_rng(21))[0]
    assert not found.first.excludes and found.verdict not in PASSING


def test_a_large_regression_of_a_noisy_cell_is_still_called():
    rng = np.random.default_rng(6)
    assert two_stages(rng, {"a": 1.0}, sd=0.15) == {"a": GateVerdict.REGRESSION}


def test_an_improvement_is_named_and_is_no_suspect():
    rng = np.random.default_rng(7)
    found = screen({CELL: arms(rng, sd=0.01, slower=-0.2)}, TWO_STAGE, rng)
    assert found[0].verdict is GateVerdict.IMPROVED
    assert suspects(found) == ()


def test_a_suspicion_that_does_not_repeat_is_not_confirmed():
    rng = np.random.default_rng(8)
    first = screen({CELL: arms(rng, sd=0.01, slower=0.1)}, TWO_STAGE, rng)
    assert suspects(first) == (CELL,)
    found = confirm(first, {CELL: arms(rng, sd=0.01)}, TWO_STAGE, rng)[0]
    assert found.verdict is GateVerdict.UNCONFIRMED
    assert found.first == first[0].first and found.second is not None


def test_a_suspect_without_a_second_measurement_is_an_error():
    rng = np.random.default_rng(9)
    first = screen({CELL: arms(rng, sd=0.01, slower=0.1)}, TWO_STAGE, rng)
    with pytest.raises(ValueError, match="no second measurement"):
        confirm(first, {}, TWO_STAGE, rng)


@pytest.mark.parametrize(("n", "cells", "seen"), [(3, 1, False), (4, 1, True), (4, 4, False)])
def test_too_few_processes_are_called_too_few(n, cells, seen):
    rng = np.random.default_rng(10)
    found = screen(
        {(str(k), "wall"): arms(rng, sd=0.001, slower=1.0 * (k == 0), n=n) for k in range(cells)},
        TWO_STAGE,
        rng,
    )
    assert (found[0].verdict is GateVerdict.SUSPECT) == seen
    assert (found[0].verdict is GateVerdict.TOO_FEW) != seen


def test_one_stage_alone_calls_a_regression_at_once_and_at_a_stricter_level():
    rng = np.random.default_rng(11)
    slow = {CELL: arms(rng, sd=0.005, slower=0.1)}
    assert decide_once(slow, ONE_STAGE, rng)[0].verdict is GateVerdict.REGRESSION
    slower = {CELL: arms(rng, sd=0.001, slower=0.025)}
    assert decide_once(slower, ONE_STAGE, rng)[0].verdict is GateVerdict.UNCHANGED
    assert screen(slower, TWO_STAGE, rng)[0].verdict is GateVerdict.SUSPECT


def test_decisions_are_a_function_of_their_arguments():
    cells = {CELL: arms(np.random.default_rng(12), slower=0.06)}
    again = [screen(cells, TWO_STAGE, np.random.default_rng(13)) for _ in range(2)]
    assert again[0] == again[1]


def test_an_empty_suite_has_no_findings():
    assert screen({}, TWO_STAGE, np.random.default_rng(14)) == ()


def test_drift_is_a_false_alarm_in_order_aaabbb_and_not_in_abba():
    rng = np.random.default_rng(15)
    n, trials = 10, 150
    drift = np.linspace(0, 0.05, 2 * n)
    one_after_the_other = np.repeat([False, True], n)
    abba = np.tile([False, True, True, False], n // 2)
    alarms = {}
    for name, is_new in (("AAABBB", one_after_the_other), ("ABBA", abba)):
        count = 0
        for _ in range(trials):
            values = np.exp(rng.normal(0, 0.02, 2 * n) + drift)
            cell = {CELL: Arms(old=tuple(values[~is_new]), new=tuple(values[is_new]))}
            count += bool(suspects(screen(cell, QUICK, rng)))
        alarms[name] = count / trials
    assert alarms["AAABBB"] > 0.3
    assert alarms["ABBA"] < 0.1


@pytest.mark.parametrize("n", [5, 10])
def test_resampled_noise_is_close_to_that_of_real_a_a_pairs(n):
    rng = np.random.default_rng(16)
    sd, pairs = 0.03, 4000
    medians = np.median(np.exp(rng.normal(0, sd, (2, pairs, n))), axis=2)
    truth = noise_of(medians[1] / medians[0])
    guesses = [
        resampled_noise(np.exp(rng.normal(0, sd, (2, n))) * [[1], [2]], n, rng) for _ in range(200)
    ]
    assert np.median([g.mad for g in guesses]) == pytest.approx(truth.mad, rel=0.3)
    assert np.median([g.p95 for g in guesses]) == pytest.approx(truth.p95, rel=0.3)


def test_noise_of_known_ratios():
    found = noise_of([0.9, 0.99, 1.0, 1.02, 1.1])
    assert found.mad == pytest.approx(0.02)
    assert found.is_unstable() and not noise_of([1.0, 1.01]).is_unstable()
    with pytest.raises(ValueError, match="A/A"):
        noise_of([])


@pytest.mark.parametrize(
    ("tests", "rule", "needed"),
    [(1, TWO_STAGE, 4), (4, TWO_STAGE, 5), (1000, TWO_STAGE, 9), (1, ONE_STAGE, 5)],
)
def test_the_values_needed_are_the_fewest_of_which_one_regression_is_called(tests, rule, needed):
    assert values_needed(tests, rule) == needed
