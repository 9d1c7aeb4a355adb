"""Ends of estimates lie beyond the truth no more often than they say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.results.stats.estimates import (
    UNKNOWN,
    Extreme,
    Level,
    Middle,
    Monotone,
    Product,
    cell_median,
    highest,
    lowest,
    ratio,
)
from tests.results.stats.noise import factors

DRAWS = 1500
SLACK = 1.8
"""Allowed above alpha: chance among so many draws, and Welch's approximation with three values."""


def beyond(make, truth, alpha, draws=DRAWS):
    """The shares of draws whose lower end is above the truth, and whose upper end is below it."""
    ends = np.array([make().ends(alpha) for _ in range(draws)])
    return (ends[:, 0] > truth * (1 + 1e-9)).mean(), (ends[:, 1] < truth * (1 - 1e-9)).mean()


def cells(seed, n, cvs):
    rng = np.random.default_rng(seed)
    return lambda: [cell_median(factors(rng, cv, n).tolist()) for cv in cvs]


@pytest.mark.parametrize("n", [3, 5, 8, 12])
@pytest.mark.parametrize("cvs", [(0.01, 0.01), (0.1, 0.1), (0.01, 0.1)])
def test_a_quotient_s_ends_hold_for_equal_and_unequal_noise(n, cvs):
    draw = cells((n, 1), n, cvs)
    assert max(beyond(lambda: ratio(*draw()), 1.0, 0.025)) <= 0.025 * SLACK


@pytest.mark.parametrize("n", [3, 5, 8])
def test_ends_hold_at_the_small_alphas_that_many_claims_need(n):
    draw = cells((n, 2), n, (0.03, 0.03))
    assert max(beyond(lambda: ratio(*draw()), 1.0, 0.0025, 4000)) <= 0.0025 * 2


def test_a_quotient_of_quotients_holds():
    draw = cells(3, 5, (0.01, 0.03, 0.1, 0.03))

    def made():
        a, b, c, d = draw()
        return ratio(ratio(a, b), ratio(c, d))

    assert max(beyond(made, 1.0, 0.025)) <= 0.025 * SLACK


@pytest.mark.parametrize("pick", [lowest, highest])
def test_extremes_of_equal_cells_hold(pick):
    draw = cells(4, 5, (0.03,) * 6)
    assert max(beyond(lambda: pick(draw()), 1.0, 0.025)) <= 0.025 * SLACK


def test_the_best_of_several_by_the_best_of_others_holds():
    draw = cells(5, 5, (0.03, 0.1, 0.03, 0.1))

    def made():
        a, b, c, d = draw()
        return ratio(Extreme((a, b), highest=True), Extreme((c, d), highest=True))

    assert max(beyond(made, 1.0, 0.025)) <= 0.025 * SLACK


def test_functions_of_several_hold():
    draw = cells(6, 5, (0.03, 0.03))
    made = lambda: Monotone(lambda v: v[0] - v[1], tuple(draw()[:1]), tuple(draw()[1:]))  # noqa: E731
    ends = np.array([made().ends(0.025) for _ in range(DRAWS)])
    assert max((ends[:, 0] > 0).mean(), (ends[:, 1] < 0).mean()) <= 0.025 * SLACK


@pytest.mark.parametrize("n", [5, 8])
def test_levels_hold_below_zero_too(n):
    rng = np.random.default_rng(7)
    ends = np.array([Level(tuple(rng.normal(0, 1, n))).ends(0.025) for _ in range(DRAWS)])
    assert max((ends[:, 0] > 0).mean(), (ends[:, 1] < 0).mean()) <= 0.025 * SLACK


def test_order_statistics_hold_for_two_values_of_which_one_is_rarer():
    rng = np.random.default_rng(8)
    ends = np.array(
        [Middle(tuple(rng.choice([0.0, 4.0], 8, p=[0.55, 0.45]))).ends(0.01) for _ in range(DRAWS)]
    )
    assert (ends[:, 0] > 0).mean() <= 0.01


def test_a_stall_among_eight_leaves_an_interval_of_use_and_among_five_a_wide_one():
    usual = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01]
    low, high = cell_median([*usual, 9.0]).ends(0.025)
    assert 0.9 < low < 1 < high < 1.1
    assert cell_median([*usual[:4], 9.0]).ends(0.025)[1] > 3


def test_too_few_values_and_values_without_a_logarithm_have_no_interval():
    assert cell_median([1.0, 1.1]).ends(0.025) == UNKNOWN
    assert cell_median([1.0, 0.0, 1.1]).ends(0.025) == UNKNOWN
    assert Middle((1.0,) * 5).ends(0.025) == UNKNOWN
    assert Middle((1.0,) * 6).ends(0.025) == (1.0, 1.0)
    assert Monotone(sum, (cell_median([1.0]), cell_median([1.0] * 3))).ends(0.025) == UNKNOWN


def test_factors_in_both_halves_of_a_quotient_cancel():
    base, a, b = (
        cell_median([3.0, 4.0, 5.0]),
        cell_median([1.0, 1.1, 1.2]),
        cell_median([2.0, 2.1, 2.3]),
    )
    quotient = ratio(ratio(a, base), ratio(b, base))
    assert quotient.ends(0.025) == ratio(a, b).ends(0.025)
    assert quotient.value == ratio(a, b).value
    assert ratio(a, a).ends(0.025) == (1.0, 1.0)
    assert ratio(a, Product((), 2.0)).value == pytest.approx(0.55)


def test_factors_that_cancel_keep_their_number_of_trials():
    assert ratio(cell_median([2.0]), cell_median([2.0])).n == 1
    assert ratio(cell_median([2.0]), cell_median([2.0])).ends(0.025) == UNKNOWN


_VALUES = st.lists(st.floats(0.1, 10), min_size=3, max_size=9)


@given(_VALUES, _VALUES, st.floats(0.001, 0.2))
def test_ends_enclose_the_value_and_widen_as_alpha_falls(a, b, alpha):
    for found in (
        cell_median(a),
        ratio(cell_median(a), cell_median(b)),
        Level(tuple(a)),
        lowest([cell_median(a), cell_median(b)]),
    ):
        low, high = found.ends(alpha)
        assert low <= found.value * (1 + 1e-9)
        assert found.value <= high * (1 + 1e-9)
        wider = found.ends(alpha / 2)
        assert wider[0] <= low * (1 + 1e-9) or math.isclose(wider[0], low)
        assert high <= wider[1] * (1 + 1e-9)


@given(_VALUES, _VALUES)
def test_a_quotient_turned_over_has_its_ends_turned_over(a, b):
    low, high = ratio(cell_median(a), cell_median(b)).ends(0.025)
    back = ratio(cell_median(b), cell_median(a)).ends(0.025)
    assert (1 / back[1], 1 / back[0]) == pytest.approx((low, high))
