"""Claims are judged by intervals: met, missed, or inconclusive, and what would tell."""

import math
from dataclasses import replace

import pytest

from streamlab.lab.figures.judge import (
    MAX_REPETITIONS,
    PublishedClaim,
    judge,
    repetitions_needed,
    side,
)
from streamlab.lab.figures.preconditions import Need, shortfalls
from streamlab.lab.figures.verdict import INCONCLUSIVE, MET, MISSED, NOT_JUDGED, SHAPE, VALUE
from streamlab.results.stats.estimates import Level, cell_median, ratio

asked = PublishedClaim(text="VSN/SN", published="2.37 x", source="section 8.1")
blocked = asked.requiring(Need(quantity="cores", count=2, least=12))
LACK = "cores: 2, at least 12 needed"
UP = math.inf


def steady(value, times=6):
    """An estimate without noise: its interval is one number."""
    return cell_median([value] * times)


def judged(posed):
    (claim,) = judge([posed])
    return claim


@pytest.mark.parametrize(
    ("measured", "outcome"),
    [(2.37, MET), (1.9, MET), (2.84, MET), (1.89, MISSED), (2.85, MISSED), (5.0, MISSED)],
)
def test_a_value_is_met_within_its_tolerance_on_both_sides(measured, outcome):
    found = judged(asked.near(steady(measured), 2.37, 2.37, 0.2, "x"))
    assert (found.outcome, found.indicates, found.kind) == (outcome, outcome, VALUE)
    assert found.reason.startswith("20% tolerance: from 1.9 x to 2.84 x; interval of 6 repetitions")


def test_a_range_is_met_anywhere_within_it():
    assert judged(asked.near(steady(20.0), 3, 50, 0.0)).outcome == MET
    assert judged(asked.near(steady(51.0), 3, 50, 0.0)).outcome == MISSED


def test_bounds_are_inclusive_and_one_sided():
    assert judged(asked.at_most(steady(40.0), 40.0, "ms")).outcome == MET
    assert judged(asked.at_most(steady(40.1), 40.0, "ms")).outcome == MISSED
    assert judged(asked.at_least(steady(100.0), 100.0)).outcome == MET
    assert judged(asked.at_least(steady(99.0), 100.0)).outcome == MISSED
    assert judged(asked.shape(steady(1.0), 1.0, UP)).kind == SHAPE
    # 0.1 by 0.3 by 1/3 is 1 but for rounding.
    third = ratio(ratio(steady(0.1), steady(0.3)), steady(1 / 3))
    assert judged(asked.shape(third, 1.0, 1.0)).outcome == MET


def test_a_published_ratio_has_two_bounds():
    """1.8 was met where 1.10 to 1.15 is published."""
    ratio_claim = replace(asked, relation="ratio")
    for pose in (ratio_claim.at_least, ratio_claim.at_most):
        with pytest.raises(ValueError, match=r"use near\(\)"):
            pose(steady(1.8), 1.1)
    assert judged(ratio_claim.near(steady(1.8), 1.1, 1.15, 0.03)).outcome == MISSED
    assert judged(ratio_claim.shape(steady(1.8), 1.0, UP)).outcome == MET  # who is faster


@pytest.mark.parametrize("measured", [None, Level((math.nan,) * 6)])
def test_without_a_number_nothing_is_judged(measured):
    found = judged(asked.at_most(measured, 1.0))
    assert (found.outcome, found.measured) == (NOT_JUDGED, "")
    assert found.reason == "it has no verified number"


def test_a_blocked_claim_is_not_judged_however_good_the_number_is():
    found = judged(blocked.near(steady(2.37), 2.37, 2.37, 0.2, "x"))
    assert (found.outcome, found.reason, found.measured) == (NOT_JUDGED, LACK, "2.37 x")


@pytest.mark.parametrize(
    ("ends", "outcome"),
    [
        ((1.0, 1.2), MET),
        ((0.99, 1.2), INCONCLUSIVE),
        ((0.5, 0.99), MISSED),
        ((0.5, 1.0), INCONCLUSIVE),
        ((2.1, 3.0), MISSED),
        ((1.9, 3.0), INCONCLUSIVE),
        ((0.5, 3.0), INCONCLUSIVE),
    ],
)
def test_a_claim_is_decided_when_its_whole_interval_is_on_one_side(ends, outcome):
    assert side(ends, (1.0, 2.0)) == outcome


def test_one_trial_is_drawn_and_not_judged():
    found = judged(asked.shape(cell_median([1.3]), 1.0, UP, "x"))
    assert (found.outcome, found.indicates, found.repetitions) == (NOT_JUDGED, NOT_JUDGED, 1)
    assert (found.reason, found.measured) == ("one trial: drawn, not judged", "1.3 x")


def test_two_repetitions_indicate_but_decide_nothing():
    found = judged(asked.shape(cell_median([1.3, 1.4]), 1.0, UP, "x"))
    assert (found.outcome, found.indicates, found.repetitions) == (INCONCLUSIVE, MET, 2)
    assert (found.low, found.high) == (None, None)
    assert found.reason.startswith(
        "at least 1 x; 2 repetitions: no interval; an interval needs at least 3"
    )


def test_values_that_do_not_vary_are_judged_by_one_trial_on_request():
    (found,) = judge([asked.shape(cell_median([1.3]), 1.0, UP, "x")], fewest=1)
    assert found.indicates == MET


@pytest.mark.parametrize(
    ("seen", "lack"),
    [(1, None), (2, None), (0, "a: 0, at least 1 needed"), (None, "a: not recorded")],
)
def test_a_need_says_what_did_not_happen(seen, lack):
    need = Need(quantity="a", count=seen)
    assert need.shortfall == shortfalls([need, need]) == lack
    (found,) = judge([asked.requiring(need).shape(steady(1.3), 1.0, UP, "x")])
    assert found.outcome == (MET if lack is None else NOT_JUDGED)
    assert found.needs == (need,)


def test_a_ratio_with_only_an_upper_bound_is_not_called_at_least_0():
    assert judged(asked.shape(steady(1.3), 0.0, 2.0, "x")).reason.startswith("at most 2 x; ")
    assert judged(asked.shape(steady(1.3), 1.0, 2.0, "x")).reason.startswith("at least 1 x and at ")


def test_an_inconclusive_claim_says_its_interval_and_how_many_repetitions_would_tell():
    noisy = cell_median([0.9, 1.3, 1.0, 1.2, 1.1])
    found = judged(asked.shape(noisy, 1.0, UP, "x"))
    assert found.outcome == INCONCLUSIVE
    assert found.low < 1 < found.high
    expected = repetitions_needed(noisy, (1.0, UP), 0.025)
    assert f"; about {expected} repetitions would decide" in found.reason
    assert f"interval of 5 repetitions from {found.low:.3g} x to {found.high:.3g} x" in found.reason
    again = cell_median([0.9, 1.3, 1.0, 1.2, 1.1] * (expected // 5 + 1))
    assert judged(asked.shape(again, 1.0, UP, "x")).outcome == MET


def test_a_value_on_its_bound_is_never_reported():
    found = judged(asked.shape(cell_median([0.9, 1.0, 1.111, 0.95, 1.053]), 1.0, UP))
    assert f"even {MAX_REPETITIONS} repetitions would not decide" in found.reason


def test_the_more_claims_a_figure_has_the_wider_is_each_interval():
    posed = asked.shape(cell_median([0.9, 1.3, 1.0, 1.2, 1.1]), 0.5, UP)
    alone, among = judge([posed])[0], judge([posed] * 10)[0]
    assert among.low < alone.low < alone.high < among.high
    # A claim that cannot be judged takes no share.
    assert judge([posed, *[blocked.shape(None, 1.0, UP)] * 9])[0] == alone
