import numpy as np
import pytest

from streamlab.engines.multicore.oplus.elastic.observation import CostFit, Observer, RawSnapshot


def snapshot(time_s, *, active=(0, 1), busy_s=(0.0, 0.0, 0.0), **counts):
    return RawSnapshot(
        time_ns=round(time_s * 1e9),
        active=active,
        busy_ns=tuple(round(busy * 1e9) for busy in busy_s),
        **{"processed": (0, 0), "arrived": (0, 0), "windows": (0, 0), "comparisons": 0, **counts},
    )


MAPPING = np.array([0, 1, 1])


def observer():
    return Observer(window_s=30.0, minimum=1, maximum=3)


def test_an_observation_is_about_the_time_between_two_looks():
    subject = observer()
    assert subject.look(snapshot(1.0, busy_s=(0.5, 0.2, 0.1)), MAPPING) is None
    seen = subject.look(
        snapshot(
            1.5,
            busy_s=(0.9, 0.7, 0.1),
            processed=(40, 60),
            arrived=(50, 61),
            windows=(7, 8),
            comparisons=900,
        ),
        MAPPING,
    )
    assert (seen.time_s, seen.span_s, seen.instances) == (1.5, 0.5, 2)
    assert seen.busy == pytest.approx((0.8, 1.0))
    assert seen.processed_eps == (80, 120)
    assert seen.offered_eps == (100, 122)
    assert seen.pending == (10, 1)
    assert (seen.windows, seen.window_s, seen.minimum, seen.maximum) == ((7, 8), 30.0, 1, 3)
    assert 100 * 2 * seen.tuple_s + 900 * seen.comparison_s == pytest.approx(0.9)


def test_busy_shares_are_those_of_the_active_instances():
    subject = observer()
    subject.look(snapshot(1.0, active=(0, 2), busy_s=(0.5, 0.2, 0.1)), MAPPING)
    seen = subject.look(snapshot(1.5, active=(0, 2), busy_s=(0.7, 0.2, 0.4)), MAPPING)
    assert (seen.instances, seen.active) == (2, (0, 2))
    assert seen.busy == pytest.approx((0.4, 0.6))


def test_the_interval_with_a_change_in_it_is_left_out():
    subject = observer()
    subject.look(snapshot(1.0), MAPPING)
    moved = MAPPING[::-1]
    assert subject.look(snapshot(2.0), moved) is None
    assert subject.look(snapshot(3.0), moved).span_s == 1.0


def test_an_uncounted_quantity_is_absent():
    subject = observer()
    counts = {"arrived": None, "windows": None, "comparisons": None}
    subject.look(snapshot(1.0, **counts), MAPPING)
    later = snapshot(2.0, busy_s=(0.3, 0.3, 0.0), **counts | {"processed": (50, 50)})
    seen = subject.look(later, MAPPING)
    assert (seen.offered_eps, seen.arrived, seen.pending, seen.windows) == (None,) * 4
    assert seen.comparison_s is None
    assert seen.tuple_s == pytest.approx(0.006)


def fill(fit, tuple_s, comparison_s, *, window_steps, rate, seed=0):
    """Show intervals of 0.1 s while windows fill, with 5 % noise."""
    random = np.random.default_rng(seed)
    for step in range(2 * window_steps):
        instances = 1 + step % 4
        compared = rate * min(step, window_steps) * rate
        busy_s = instances * rate * tuple_s + compared * comparison_s
        fit.learn(busy_s * random.normal(1, 0.05), instances, rate, compared)


@pytest.mark.parametrize("tuple_s", [1e-8, 1e-6, 1e-5])
@pytest.mark.parametrize("comparison_s", [2e-10, 1e-8])
def test_the_cost_of_comparisons_is_found_whatever_tuples_cost(tuple_s, comparison_s):
    fit = CostFit()
    fill(fit, tuple_s, comparison_s, window_steps=600, rate=400)
    assert fit.comparison_s == pytest.approx(comparison_s, rel=0.15)
    # What the model asks is right for other windows, not only for the last.
    for window in (600, 300):
        true_s = 2 * tuple_s + window * 400 * comparison_s
        assert 2 * fit.tuple_s + window * 400 * fit.comparison_s == pytest.approx(true_s, rel=0.2)


def test_a_steady_state_says_nothing_new_of_the_two_costs():
    fit = CostFit()
    fill(fit, 1e-6, 5e-9, window_steps=600, rate=400)
    before = fit.tuple_s, fit.comparison_s
    for _ in range(1_000):
        fit.learn(2 * 400 * 1e-6 + 96_000_000 * 5e-9, 2, 400, 96_000_000)
    assert (fit.tuple_s, fit.comparison_s) == pytest.approx(before, rel=0.15)


def test_an_idle_interval_says_nothing():
    fit = CostFit()
    fit.learn(0.0, 2, 100, 100)
    fit.learn(0.1, 2, 0, 0)
    assert (fit.tuple_s, fit.comparison_s) == (None, None)
