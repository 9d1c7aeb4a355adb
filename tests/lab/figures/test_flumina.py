"""The figures of DGS: their experiments, and their verdicts on known numbers."""

import pytest

from streamlab.lab.figures.flumina.paper_setup import (
    DGS,
    PROGRAMS,
    PUBLISHED,
    SERIES,
    UNITS,
    facts,
    scaling,
)
from streamlab.lab.figures.flumina.throughput import streams_key
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.registry import find
from streamlab.lab.figures.verdict import (
    CONTRADICTED,
    MET,
    MISSED,
    NOT_JUDGED,
    REPRODUCED,
    SHAPE_ONLY,
    conclude,
)
from tests.lab.figures.claims import cells_of, form_of, outcomes

TWO = Options(cores=2)
TWELVE = Options(cores=12, workers=(1, 12))


@pytest.fixture
def scaled(row, make_run):
    """The run of figure 8, in which all programs grow so much from one worker to the most.

    This lab's own form does not grow: the figure judges the published one.
    """

    def make(grown, many=2):
        rows = [
            row(streams_key(program, n), DGS, n, batch=batch, label=form,
                rate=1e7 * (grown if n > 1 and form == PUBLISHED else 1.0))
            for program in PROGRAMS
            for form, batch in SERIES
            for n in (1, many)
        ]  # fmt: skip
        return (make_run(rows),)

    return make


def test_the_published_growth_reproduces_figure_8_with_as_many_cores(scaled):
    outcome = find("flumina:8").outcome(TWELVE, scaled(8.0, many=12))
    assert conclude(outcome.claims).verdict == REPRODUCED, outcome.claims
    assert len(outcome.draw().axes) == len(PROGRAMS) * len(UNITS)


@pytest.mark.parametrize(
    ("grown", "verdict"), [(1.9, SHAPE_ONLY), (1.2, CONTRADICTED), (0.7, CONTRADICTED)]
)
def test_fewer_cores_are_judged_by_the_share_of_linear_growth(scaled, grown, verdict):
    outcome = find("flumina:8").outcome(TWO, scaled(grown))
    assert conclude(outcome.claims).verdict == verdict
    assert outcomes(outcome, "with 12 workers") == {NOT_JUDGED}
    assert outcomes(outcome, "with 2 workers by that with 1") == {MET if grown > 1.34 else MISSED}


def test_every_program_has_the_papers_events_between_barriers_and_a_stream_for_each_worker():
    cells = cells_of("flumina:8", TWO)
    assert {(form_of(cell), cell.batch) for cell in cells} == set(SERIES)
    published = [cell for cell in cells if form_of(cell) == PUBLISHED]
    assert all(cell.options == {"form": "as-published"} for cell in published)
    for cell in cells:
        (program,) = (p for p in PROGRAMS if p.workload == cell.entry.name)
        assert cell.entry.params == {"streams": cell.workers, program.per_barrier: 10_000}
    assert len(cells) == len(PROGRAMS) * len(SERIES) * 2


def test_table_1_has_a_tick_or_a_cross_for_every_form_of_every_program():
    found = facts().of(figure="T1")
    forms = [(fact.panel, fact.series) for fact in found if fact.quantity == "scaling"]
    assert len(forms) == 12
    crosses = {(f.panel, f.series, f.quantity) for f in found if f.unit == "1" and f.low == 0}
    assert crosses == {
        ("page-view join", "TDM", "PIP2"),
        *((p, "FM", f"PIP{n}") for p in ("page-view join", "fraud detection") for n in (1, 2, 3)),
    }
    assert [scaling(program, "DGS").low for program in PROGRAMS] == [8, 8, 8]
