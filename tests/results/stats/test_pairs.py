from itertools import product

import numpy as np
import pytest

from streamlab.results.stats.decision import (
    TWO_STAGE,
    Arms,
    GateVerdict,
    Rule,
    screen,
    values_needed,
)
from streamlab.results.stats.methods import INDEPENDENT, PAIRED
from streamlab.results.stats.pairs import (
    pair_difference,
    pair_difference_interval,
    pair_interval,
    pair_noise,
    pair_ratio,
    signed_rank,
    smallest_pair_p,
)

QUICK = Rule(draws=100)
CELL = ("a cell", "p99")


def logs(*values):
    """An old arm of ones, and a new one with these logarithms of ratios."""
    return np.ones(len(values)), np.exp(values)


def test_the_p_value_is_the_share_of_all_signs_that_are_at_least_as_extreme():
    sizes = np.array([1.0, 2.0, 3.5, 4.0, 7.0])
    ranks = np.arange(1, 6)
    sums = [np.sum(ranks[np.array(signs) > 0]) for signs in product([-1, 1], repeat=5)]
    for signs in product([-1, 1], repeat=5):
        own = np.sum(ranks[np.array(signs) > 0])
        assert signed_rank(*logs(*(sizes * signs))) == pytest.approx(
            np.mean([other >= own for other in sums])
        )


def test_equal_pairs_speak_for_no_difference():
    assert signed_rank(*logs(0, 0, 0, 0, 0)) == 1
    assert signed_rank(*logs(0, 0, 0, 1, 2)) > signed_rank(*logs(0.1, 0.2, 0.3, 1, 2))


def test_all_pairs_worse_is_the_smallest_p_value():
    assert signed_rank(*logs(*range(1, 11))) == smallest_pair_p(10, 10) == 2**-10
    assert signed_rank(*logs(*range(1, 11)), "less") == 1


def test_the_estimate_is_the_median_of_all_pairwise_means():
    assert pair_ratio(*logs(1, 2, 6)) == pytest.approx(np.exp(2.75))


def test_the_interval_has_the_ends_that_tables_of_the_test_give():
    """Of 10 values the 9th smallest and 9th largest of 55 means, with 95.1 %."""
    values = np.random.default_rng(1).normal(0, 1, 10)
    means = np.sort([(values[i] + values[j]) / 2 for i in range(10) for j in range(i, 10)])
    found = pair_interval(*logs(*values))
    assert np.log([found.low, found.high]) == pytest.approx([means[8], means[-9]])
    assert found.coverage == pytest.approx(0.951, abs=5e-4)
    assert pair_interval(*logs(1, 2, 3, 4, 5)) is None


def test_a_difference_has_the_same_interval_on_its_own_scale():
    values = np.random.default_rng(1).normal(0, 1, 10)
    old, new = np.full(10, 7.0), 7 + values
    ratio, difference = pair_interval(*logs(*values)), pair_difference_interval(old, new)
    assert [difference.low, difference.high] == pytest.approx(np.log([ratio.low, ratio.high]))
    assert pair_difference(old, new) == pytest.approx(np.log(pair_ratio(*logs(*values))))


def test_the_interval_contains_the_truth_as_often_as_it_states():
    rng = np.random.default_rng(2)
    found = [pair_interval(*logs(*rng.normal(0.1, 0.3, 10))) for _ in range(500)]
    share = np.mean([each.low <= np.exp(0.1) <= each.high for each in found])
    # Four standard errors of a share of 500.
    assert share == pytest.approx(0.951, abs=0.04)


def test_noise_is_that_of_real_pairs_without_a_change():
    rng = np.random.default_rng(3)
    truth = np.median([abs(pair_ratio(*logs(*rng.normal(0, 0.1, 10))) - 1) for _ in range(400)])
    noise = [pair_noise(*logs(*rng.normal(0.7, 0.1, 10)), rng, 100).mad for _ in range(40)]
    assert np.median(noise) == pytest.approx(truth, rel=0.3)


@pytest.mark.parametrize(("tests", "needed"), [(1, 5), (2, 6), (30, 10)])
def test_pairs_need_more_trials_than_independent_values(tests, needed):
    assert values_needed(tests, TWO_STAGE, PAIRED) == needed
    assert values_needed(tests, TWO_STAGE, INDEPENDENT) <= needed


def drifting(rng, slower, n=10):
    """Two arms of a machine whose noise comes and goes, and falls on both members of a pair."""
    shared = np.exp(rng.normal(0, 0.5, n))
    own = np.exp(rng.normal(0, 0.01, (2, n)))
    return tuple(shared * own[0]), tuple(shared * own[1] * (1 + slower))


def test_noise_that_both_members_of_a_pair_share_hides_nothing():
    rng = np.random.default_rng(4)
    old, new = drifting(rng, 0.1)
    paired = screen({CELL: Arms(old=old, new=new, method=PAIRED)}, QUICK, rng)[0]
    apart = screen({CELL: Arms(old=old, new=new)}, QUICK, rng)[0]
    assert (paired.verdict, apart.verdict) == (GateVerdict.SUSPECT, GateVerdict.UNSTABLE)
    assert paired.first.ratio == pytest.approx(1.1, rel=0.02)
    old, new = drifting(rng, 0.0)
    paired = screen({CELL: Arms(old=old, new=new, method=PAIRED)}, QUICK, rng)[0]
    assert paired.verdict is GateVerdict.UNCHANGED


def test_pairs_that_are_slower_by_the_requested_size_never_pass():
    rng = np.random.default_rng(5)
    for slower in (0.05, 0.2):
        old, _ = drifting(rng, 0)
        arms = Arms(old=old, new=tuple(np.multiply(old, 1 + slower)), method=PAIRED)
        assert not screen({CELL: arms}, QUICK, rng)[0].first.excludes


def test_values_that_are_no_pairs_are_refused():
    with pytest.raises(ValueError, match="as many old values as new"):
        signed_rank([1, 2], [1])
    with pytest.raises(ValueError, match="above 0"):
        pair_ratio([1, 0], [1, 1])
