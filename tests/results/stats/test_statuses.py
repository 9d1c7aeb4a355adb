"""Ten trials a side; a worse status is called when no luck explains it."""

from itertools import product
from math import comb

import pytest

from streamlab.results import schema
from streamlab.results.stats.statuses import FAULTS, ORDER, compare_statuses, level

ALPHA = 0.05


def arm(n=10, **counts):
    """Levels of an arm's trials: so many of each status, the others ok."""
    worse = [level(status) for status, count in counts.items() for _ in range(count)]
    return [0] * (n - len(worse)) + worse


def test_the_order_has_every_status_once():
    assert sorted(ORDER) == sorted(schema.STATUSES)
    assert set(ORDER) > FAULTS


@pytest.mark.parametrize("status", ORDER[1:])
def test_ten_trials_with_a_worse_status_are_called(status):
    assert compare_statuses(arm(), arm(**{status: 10}), ALPHA).worse
    assert not compare_statuses(arm(**{status: 10}), arm(), ALPHA).worse


@pytest.mark.parametrize("better", range(len(ORDER) - 1))
def test_each_status_is_worse_than_the_one_before_it(better):
    old, new = ([ORDER.index(ORDER[k])] * 10 for k in (better, better + 1))
    assert compare_statuses(old, new, ALPHA).worse


@pytest.mark.parametrize(
    ("n", "count", "worse", "excludes"),
    [
        (10, 0, False, True),
        (10, 1, False, True),
        (10, 3, False, True),
        (10, 4, True, False),
        (10, 10, True, False),
        (4, 0, False, True),
        (4, 1, False, False),
        (4, 3, False, False),
        (4, 4, True, False),
    ],
)
def test_one_unlucky_trial_is_no_regression(n, count, worse, excludes):
    found = compare_statuses(arm(n), arm(n, unsustained=count), ALPHA)
    assert (found.worse, found.excludes, found.differs) == (worse, excludes, count > 0)


def test_an_arm_that_was_as_bad_before_is_neither_worse_nor_in_doubt():
    found = compare_statuses(arm(unsteady=9), arm(unsteady=10), ALPHA)
    assert (found.worse, found.excludes) == (False, True)


def test_a_worse_status_among_bad_ones_is_called():
    assert compare_statuses(arm(unsteady=10), arm(unsustained=10), ALPHA).worse


def test_a_catch_up_without_a_steady_rate_counts_as_unsteady():
    assert level("ok", "unsteady") == level("unsteady") > level("ok", "steady") == 0
    assert level("ok", None) == level("ok", "too_short") == 0
    assert level("crash", "unsteady") == level("crash") == level(None)


@pytest.mark.parametrize(("n", "share"), list(product([4, 10], [0.05, 0.2, 0.5])))
def test_equal_arms_are_called_no_more_often_than_the_level(n, share):
    """Exact: over all counts of two arms whose trials are unsustained with the same chance."""
    chance = [comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)]
    alarms = sum(
        chance[a] * chance[b]
        for a, b in product(range(n + 1), repeat=2)
        if compare_statuses(arm(n, unsustained=a), arm(n, unsustained=b), ALPHA).worse
    )
    assert alarms <= ALPHA
