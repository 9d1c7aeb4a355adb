"""The lab's own figure of rates against values per barrier, on known numbers."""

import pytest

from streamlab.lab.figures.barriers import COST, DEFAULT, DGS, RATIOS, UNITS
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.registry import facts_of, find
from streamlab.lab.figures.verdict import MET, MISSED, NOT_JUDGED, REPRODUCED, conclude
from tests.lab.figures.claims import cells_of

TWO = Options(cores=2)
FIGURE = find("lab:barriers")


@pytest.fixture
def measured(row, make_run):
    """A run in which two workers by cost do so much of one at 100 values a barrier, else as much.

    By the default plan they do half.
    """

    def make(at_100=1.0):
        rows = []
        for batch in UNITS:
            for ratio in RATIOS:
                one = 1e5 * ratio
                kept = at_100 if (ratio, batch) == (100, 4096) else 1.0
                for label, n, rate in (
                    (DEFAULT, 1, one), (DEFAULT, 2, one / 2), (COST, 2, one * kept)
                ):  # fmt: skip
                    key = f"event_window@per-{ratio}"
                    rows.append(row(key, DGS, n, rate=rate, batch=batch, label=label))
        return (make_run(rows),)

    return make


def test_plans_by_cost_that_keep_up_meet_the_claims_whatever_the_default_does(measured):
    outcome = FIGURE.outcome(TWO, measured())
    assert conclude(outcome.claims).verdict == REPRODUCED, outcome.claims
    assert outcome.numbers["in blocks of 4,096, plan by cost, 2 workers"]["100"]["median"] == 1e7
    assert outcome.numbers["value by value, default plan, 1 worker"]["10"]["median"] == 1e6
    drawn = outcome.draw().axes
    assert [panel.get_yscale() for panel in drawn] == ["log"] * len(UNITS)
    assert "both axes are logarithmic" in outcome.notes[0]
    assert {c.published.partition(":")[0] for c in outcome.claims} == {"nowhere"}


def test_one_ratio_that_is_slower_is_seen(measured):
    outcome = FIGURE.outcome(TWO, measured(at_100=0.9))
    came = {claim.text.partition(":")[0]: claim.outcome for claim in outcome.claims}
    assert came == {"value by value": MET, "in blocks of 4,096": MISSED}


def test_more_workers_than_cores_are_not_judged(measured):
    outcome = FIGURE.outcome(Options(cores=1), measured())
    assert {claim.outcome for claim in outcome.claims} == {NOT_JUDGED}


def test_every_ratio_is_run_by_both_plans():
    cells = cells_of("lab:barriers", TWO)
    assert {cell.entry.params["values_per_barrier"] for cell in cells} == set(RATIOS)
    assert len(cells) == len(RATIOS) * len(UNITS) * 3
    assert tuple(facts_of(FIGURE)) == ()
