"""Claims and verdicts: pure functions of numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.figures.verdict import (
    CONTRADICTED,
    MET,
    MISSED,
    NOT_COMPARABLE,
    REPRODUCED,
    SHAPE,
    SHAPE_ONLY,
    VALUE,
    VERDICTS,
    Asked,
    Claim,
    conclude,
)

asked = Asked(text="VSN/SN", published="2.37 x", source="section 8.1")
blocked = Asked(text="VSN/SN", published="2.37 x", source="section 8.1", blocked="2 cores")


def claim(kind, outcome, reason="why"):
    return Claim(
        text="t", kind=kind, published="p", source="s", outcome=outcome, measured="1", reason=reason
    )


@pytest.mark.parametrize(
    ("measured", "outcome"),
    [(2.37, MET), (1.9, MET), (2.84, MET), (1.89, MISSED), (2.85, MISSED), (5.0, MISSED)],
)
def test_a_value_is_met_within_its_tolerance_on_both_sides(measured, outcome):
    found = asked.near(measured, 2.37, 2.37, 0.2, "x")
    assert (found.outcome, found.kind) == (outcome, VALUE)
    assert found.reason == "20% tolerance: from 1.9 x to 2.84 x"


def test_a_range_is_met_anywhere_within_it():
    assert asked.near(20, 3, 50, 0.0).outcome == MET
    assert asked.near(51, 3, 50, 0.0).outcome == MISSED


def test_bounds_are_inclusive_and_one_sided():
    assert asked.at_most(40.0, 40.0, "ms").outcome == MET
    assert asked.at_most(40.1, 40.0, "ms").outcome == MISSED
    assert asked.at_least(100.0, 100.0).outcome == MET
    assert asked.at_least(99.0, 100.0).outcome == MISSED
    assert asked.shape(1.0, 1.0, math.inf).kind == SHAPE


@pytest.mark.parametrize("measured", [None, math.nan])
def test_without_a_number_nothing_is_judged(measured):
    found = asked.at_most(measured, 1.0)
    assert (found.outcome, found.measured) == (NOT_COMPARABLE, "")
    assert found.reason == "there is no verified number for it"


def test_what_is_blocked_is_not_judged_however_good_the_number_is():
    found = blocked.near(2.37, 2.37, 2.37, 0.2, "x")
    assert (found.outcome, found.reason, found.measured) == (NOT_COMPARABLE, "2 cores", "2.37 x")


@pytest.mark.parametrize(
    ("claims", "verdict"),
    [
        ([], NOT_COMPARABLE),
        ([(VALUE, NOT_COMPARABLE), (SHAPE, NOT_COMPARABLE)], NOT_COMPARABLE),
        ([(VALUE, MET), (SHAPE, MET)], REPRODUCED),
        ([(VALUE, MET)], REPRODUCED),
        ([(SHAPE, MET), (VALUE, MISSED)], SHAPE_ONLY),
        ([(SHAPE, MET), (VALUE, NOT_COMPARABLE)], SHAPE_ONLY),
        ([(VALUE, MET), (VALUE, NOT_COMPARABLE)], SHAPE_ONLY),
        ([(SHAPE, MISSED), (VALUE, MET), (SHAPE, MET)], CONTRADICTED),
        ([(VALUE, MISSED), (VALUE, MET)], CONTRADICTED),
        ([(VALUE, MISSED), (SHAPE, NOT_COMPARABLE)], CONTRADICTED),
    ],
)
def test_the_verdict_follows_from_the_claims(claims, verdict):
    assert conclude([claim(*parts) for parts in claims]).verdict == verdict


_ANY = st.lists(
    st.tuples(st.sampled_from((VALUE, SHAPE)), st.sampled_from((MET, MISSED, NOT_COMPARABLE)))
)


@given(_ANY)
def test_every_set_of_claims_has_a_verdict_and_only_whole_success_is_reproduced(parts):
    found = conclude([claim(*part) for part in parts])
    assert found.verdict in VERDICTS
    assert found.reason
    outcomes = {outcome for _, outcome in parts}
    assert (found.verdict == REPRODUCED) == (outcomes == {MET})


@given(_ANY)
def test_the_order_of_claims_does_not_matter(parts):
    forward = conclude([claim(*part) for part in parts]).verdict
    assert conclude([claim(*part) for part in reversed(parts)]).verdict == forward


def test_the_reason_names_what_was_missed_and_what_cannot_be_compared():
    found = conclude(
        [
            claim(SHAPE, MET),
            asked.near(5.0, 2.37, 2.37, 0.2, "x"),
            blocked.near(None, 1, 1, 0.1),
        ]
    )
    assert found.verdict == SHAPE_ONLY
    assert "1 of 3 claims met" in found.reason
    assert "VSN/SN: measured 5 x, expected 20% tolerance" in found.reason
    assert "1 not comparable: 2 cores" in found.reason
