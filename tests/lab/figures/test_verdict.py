"""Claims and verdicts: pure functions of numbers."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.lab.figures.judge import PublishedClaim, judge
from streamlab.lab.figures.preconditions import Need
from streamlab.lab.figures.verdict import (
    CONTRADICTED,
    INCONCLUSIVE,
    INDICATION,
    MET,
    MISSED,
    NOT_COMPARABLE,
    NOT_JUDGED,
    ONE_TRIAL,
    REPRODUCED,
    SHAPE,
    SHAPE_ONLY,
    VALUE,
    VERDICTS,
    Claim,
    conclude,
)
from streamlab.results.stats.estimates import cell_median


def claim(kind, outcome, indicates=None):
    return Claim(
        text="t",
        kind=kind,
        published="p",
        source="s",
        outcome=outcome,
        indicates=indicates or (MET if outcome == INCONCLUSIVE else outcome),
        measured="1",
        low=None,
        high=None,
        repetitions=8,
        reason="why",
    )


@pytest.mark.parametrize(
    ("claims", "verdict"),
    [
        ([], NOT_COMPARABLE),
        ([(VALUE, NOT_COMPARABLE), (SHAPE, NOT_COMPARABLE)], NOT_COMPARABLE),
        ([(VALUE, NOT_JUDGED), (SHAPE, NOT_COMPARABLE)], NOT_JUDGED),
        ([(VALUE, MET), (SHAPE, NOT_JUDGED)], SHAPE_ONLY),
        ([(VALUE, MISSED), (SHAPE, NOT_JUDGED)], CONTRADICTED),
        ([(VALUE, MET), (SHAPE, MET)], REPRODUCED),
        ([(VALUE, MET)], REPRODUCED),
        ([(SHAPE, MET), (VALUE, MISSED)], SHAPE_ONLY),
        ([(SHAPE, MET), (VALUE, NOT_COMPARABLE)], SHAPE_ONLY),
        ([(VALUE, MET), (VALUE, NOT_COMPARABLE)], SHAPE_ONLY),
        ([(SHAPE, MISSED), (VALUE, MET), (SHAPE, MET)], CONTRADICTED),
        ([(VALUE, MISSED), (VALUE, MET)], CONTRADICTED),
        ([(VALUE, MISSED), (SHAPE, NOT_COMPARABLE)], CONTRADICTED),
        ([(VALUE, INCONCLUSIVE)], INCONCLUSIVE),
        ([(SHAPE, MET), (SHAPE, INCONCLUSIVE)], INCONCLUSIVE),
        ([(SHAPE, MET), (VALUE, INCONCLUSIVE)], INCONCLUSIVE),
        ([(VALUE, INCONCLUSIVE), (VALUE, NOT_COMPARABLE)], INCONCLUSIVE),
        # Whatever becomes of what is open, the verdict is the same.
        ([(SHAPE, MISSED), (SHAPE, INCONCLUSIVE), (VALUE, INCONCLUSIVE)], CONTRADICTED),
        ([(SHAPE, MET), (VALUE, MISSED), (VALUE, INCONCLUSIVE)], SHAPE_ONLY),
        ([(SHAPE, MET), (VALUE, NOT_COMPARABLE), (VALUE, INCONCLUSIVE)], SHAPE_ONLY),
        ([(VALUE, MISSED), (VALUE, INCONCLUSIVE)], CONTRADICTED),
    ],
)
def test_the_verdict_follows_from_the_claims(claims, verdict):
    assert conclude([claim(*parts) for parts in claims]).verdict == verdict


_ANY = st.lists(
    st.tuples(
        st.sampled_from((VALUE, SHAPE)),
        st.sampled_from((MET, MISSED, INCONCLUSIVE, NOT_COMPARABLE, NOT_JUDGED)),
    )
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


@given(_ANY)
def test_a_verdict_stands_however_the_inconclusive_claims_turn_out(parts):
    """Against every way in which they may, not only the three that the rule tries."""
    open_ = [place for place, (_, outcome) in enumerate(parts) if outcome == INCONCLUSIVE][:6]
    parts = [part for place, part in enumerate(parts) if part[1] != INCONCLUSIVE or place in open_]
    turned = set()
    for ends in itertools.product((MET, MISSED), repeat=len(open_)):
        left = iter(ends)
        turned.add(
            conclude([claim(k, next(left) if o == INCONCLUSIVE else o) for k, o in parts]).verdict
        )
    found = conclude([claim(*part) for part in parts]).verdict
    assert found == (turned.pop() if len(turned) == 1 else INCONCLUSIVE)


def test_an_inconclusive_verdict_states_what_the_numbers_indicate():
    found = conclude([claim(SHAPE, INCONCLUSIVE, MISSED), claim(VALUE, MET)])
    assert (found.verdict, found.indicates) == (INCONCLUSIVE, CONTRADICTED)
    assert found.text == "inconclusive (indicates: contradicted)"
    assert "1 of 2 claims inconclusive: t: measured 1, why" in found.reason


@pytest.mark.parametrize("outcome", [MET, INCONCLUSIVE])
def test_a_quick_run_indicates_and_has_no_verdict(outcome):
    found = conclude([claim(SHAPE, outcome)], quick=True)
    assert (found.verdict, found.indicates) == (INDICATION, REPRODUCED)
    assert found.text == "indicates: reproduced"


@pytest.mark.parametrize("outcome", [NOT_COMPARABLE, NOT_JUDGED])
def test_a_quick_run_that_has_no_number_indicates_nothing(outcome):
    assert conclude([claim(SHAPE, outcome)], quick=True).verdict == outcome


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("value", [0.5, 1.5])
def test_one_trial_neither_reproduces_nor_contradicts(quick, value):
    claims = judge(
        [PublishedClaim(text="t", published="p", source="s").shape(cell_median([value]), 1.0, 2.0)]
    )
    found = conclude(claims, quick=quick)
    assert (found.verdict, found.indicates, found.text) == (NOT_JUDGED, NOT_JUDGED, ONE_TRIAL)


def test_the_reason_names_missed_and_incomparable_claims():
    wrong, left = judge(
        [
            PublishedClaim(text="VSN/SN", published="2.37 x", source="section 8.1").near(
                cell_median([5.0, 5.0, 5.0]), 2.37, 2.37, 0.2, "x"
            ),
            PublishedClaim(text="t", published="p", source="s")
            .requiring(Need(quantity="cores", count=2, least=12))
            .near(None, 1, 1, 0.1),
        ]
    )
    found = conclude([claim(SHAPE, MET), wrong, left])
    assert found.verdict == SHAPE_ONLY
    assert "1 of 3 claims met" in found.reason
    assert "VSN/SN: measured 5 x, expected 20% tolerance" in found.reason
    assert "1 not judged: cores: 2, at least 12 needed" in found.reason
