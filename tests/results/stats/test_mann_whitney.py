from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy import stats

from streamlab.results.stats.mann_whitney import mann_whitney, smallest_p


def by_enumeration(old, new):
    """The one-sided p-value over all ways to deal the values, ties against the alternative."""

    def wins(a, b):
        return sum(y > x for x in a for y in b)

    pooled = [*old, *new]
    everything = range(len(pooled))
    seen = wins(old, new)
    as_large = 0
    for chosen in combinations(everything, len(new)):
        b = [pooled[i] for i in chosen]
        a = [pooled[i] for i in everything if i not in chosen]
        as_large += wins(a, b) >= seen
    return as_large / comb(len(pooled), len(new))


def test_p_value_is_that_of_counting_all_orders():
    rng = np.random.default_rng(1)
    for n_old, n_new in [(3, 3), (4, 5), (6, 4)]:
        old, new = rng.normal(size=n_old), rng.normal(0.5, size=n_new)
        assert mann_whitney(old, new) == pytest.approx(by_enumeration(old, new))


def by_scipy(old, new, alternative):
    """The p-value by SciPy, where of equal values those that would speak for it come first."""
    is_new = np.repeat([False, True], [len(old), len(new)])
    place = is_new if alternative == "less" else ~is_new
    ranks = np.empty(len(is_new))
    ranks[np.lexsort((place, np.concatenate([old, new])))] = np.arange(len(is_new))
    return stats.mannwhitneyu(
        ranks[is_new], ranks[~is_new], alternative=alternative, method="exact"
    ).pvalue


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize("different", [3, 12, 10**6])
def test_p_value_is_that_of_scipy_with_ties_against_the_alternative(alternative, different):
    rng = np.random.default_rng(6)
    for _ in range(60):
        n_old, n_new = rng.integers(1, 21, 2)
        old, new = (rng.integers(0, different, n) + shift for n, shift in ((n_old, 0), (n_new, 1)))
        sides = ("greater", "less") if alternative == "two-sided" else (alternative,)
        expected = min(by_scipy(old, new, side) for side in sides) * len(sides)
        assert mann_whitney(old, new, alternative) == pytest.approx(min(expected, 1), rel=1e-11)


def test_p_value_is_that_of_scipy_for_arms_of_hundreds():
    rng = np.random.default_rng(7)
    old, new = rng.normal(size=90), rng.normal(0.7, size=110)
    p = mann_whitney(old, new)
    assert p < 1e-4
    assert p == pytest.approx(by_scipy(old, new, "greater"), rel=1e-10)


def test_huge_arms_take_the_normal_approximation_which_is_near_the_exact_value(monkeypatch):
    rng = np.random.default_rng(7)
    for shift in (0.0, 0.2, 0.35):
        old, new = rng.normal(size=100), rng.normal(shift, size=100)
        exact = mann_whitney(old, new)
        with monkeypatch.context() as patched:
            patched.setattr("streamlab.results.stats.mann_whitney.LARGEST_TABLE", 9_999)
            approximate = mann_whitney(old, new)
        assert approximate != exact
        assert approximate == pytest.approx(exact, rel=0.1)
    # The table for these would have half a billion places.
    assert mann_whitney(np.arange(5_000), np.arange(5_000) + 0.5) > 0.4
    assert mann_whitney(np.zeros(5_000), np.zeros(5_000)) == pytest.approx(1)


def test_ties_never_make_a_p_value_smaller():
    rng = np.random.default_rng(2)
    for _ in range(20):
        old, new = rng.integers(0, 4, 4), rng.integers(1, 5, 4)
        assert mann_whitney(old, new) >= by_enumeration(old, new) - 1e-12


def test_equal_values_everywhere_are_no_evidence_in_any_direction():
    for alternative in ("greater", "less", "two-sided"):
        assert mann_whitney([7] * 10, [7] * 10, alternative) == 1


def test_directions_are_as_named():
    low, high = [1, 2, 3, 4, 5], [6, 7, 8, 9, 10]
    assert mann_whitney(low, high, "greater") == pytest.approx(1 / 252)
    assert mann_whitney(low, high, "less") == pytest.approx(1)
    assert mann_whitney(low, high, "two-sided") == pytest.approx(2 / 252)


@pytest.mark.parametrize(("n", "p"), [(3, 0.05), (5, 0.004), (6, 0.001), (8, 8e-5)])
def test_smallest_p_is_that_of_the_clearest_order(n, p):
    assert smallest_p(n, n) == pytest.approx(p, rel=0.1)
    assert mann_whitney(range(n), range(n, 2 * n)) == pytest.approx(smallest_p(n, n))


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_false_alarms_are_as_rare_as_the_level_whatever_the_distribution(alpha):
    rng = np.random.default_rng(3)
    trials = 3000
    for draw in (rng.standard_normal, rng.standard_exponential, rng.standard_cauchy):
        hits = sum(mann_whitney(draw(6), draw(6)) <= alpha for _ in range(trials))
        assert hits / trials <= alpha + 4 * np.sqrt(alpha * (1 - alpha) / trials)
