import numpy as np
import pytest

from streamlab.results.stats import intervals
from streamlab.results.stats.intervals import median_interval, ratio_interval, ratio_of_medians

TRIALS = 1500
# Four standard errors of a simulated share: one false failure in 30,000 runs of a test, and the
# generators are seeded, so none.
SIGMAS = 4


def lowest(nominal, trials):
    return nominal - SIGMAS * np.sqrt(nominal * (1 - nominal) / trials)


DISTRIBUTIONS = {
    "normal": (lambda rng, n: rng.normal(10, 1, n), 10),
    "log-normal": (lambda rng, n: rng.lognormal(0, 1, n), 1),
    "exponential": (lambda rng, n: rng.exponential(1, n), np.log(2)),
}


@pytest.mark.parametrize("n", [6, 10, 25])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_median_interval_covers_the_true_median_as_often_as_it_says(name, n):
    draw, truth = DISTRIBUTIONS[name]
    rng = np.random.default_rng(1)
    found = [median_interval(draw(rng, n)) for _ in range(TRIALS)]
    assert found[0].coverage >= 0.95
    share = np.mean([i.low <= truth <= i.high for i in found])
    assert share >= lowest(found[0].coverage, TRIALS)
    # It is exact, so it must not cover much more often either.
    assert share <= found[0].coverage + SIGMAS * np.sqrt(0.05 * 0.95 / TRIALS)


def test_six_values_are_the_fewest_that_give_an_interval():
    assert median_interval([1, 2, 3, 4, 5]) is None
    found = median_interval([6, 1, 5, 2, 4, 3])
    assert (found.low, found.high) == (1, 6)
    assert found.coverage == pytest.approx(1 - 2 / 2**6)


@pytest.mark.some(2)
@pytest.mark.parametrize(("n", "sd"), [(5, 0.03), (10, 0.03), (10, 0.3), (20, 0.03)])
def test_ratio_interval_covers_the_true_ratio_about_as_often_as_it_says(n, sd, monkeypatch):
    monkeypatch.setattr(intervals, "DRAWS", 999)
    rng = np.random.default_rng(2)
    trials, truth = 400, 1.05
    hits = 0
    for _ in range(trials):
        old, new = np.exp(rng.normal(0, sd, n)), truth * np.exp(rng.normal(0, sd, n))
        found = ratio_interval(old, new, rng)
        hits += found.low <= truth <= found.high
    assert hits / trials >= lowest(0.95, trials)


def test_ratio_interval_is_a_function_of_its_arguments():
    old, new = [1.0, 1.1, 1.2, 1.3], [1.1, 1.2, 1.3, 1.6]
    first = ratio_interval(old, new, np.random.default_rng(3))
    assert first == ratio_interval(old, new, np.random.default_rng(3))
    assert first.low <= ratio_of_medians(old, new) <= first.high


def test_values_that_do_not_vary_give_an_interval_of_one_point():
    found = ratio_interval([2, 2, 2, 2], [3, 3, 3, 3], np.random.default_rng(4))
    assert (found.low, found.high) == (pytest.approx(1.5), pytest.approx(1.5))


def test_two_values_are_too_few_for_a_ratio_interval():
    assert ratio_interval([1, 2], [1, 2, 3], np.random.default_rng(5)) is None


@pytest.mark.parametrize("bad", [[], [1.0, float("nan")], [[1.0, 2.0]], [1.0, 0.0], [1.0, -1.0]])
def test_values_that_have_no_ratio_are_refused(bad):
    with pytest.raises(ValueError, match="expected"):
        ratio_of_medians(bad, [1.0])
