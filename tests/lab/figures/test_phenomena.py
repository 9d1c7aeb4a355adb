"""A claim is judged only where what it is about happened: of all figures, each phenomenon."""

import dataclasses

import pytest
from msgspec.structs import replace

from streamlab.lab.errors import FigureError
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.registry import PAPERS, figures
from streamlab.lab.figures.systems import absent
from streamlab.lab.figures.verdict import (
    NO_OUTCOME,
    NOT_COMPARABLE,
    NOT_JUDGED,
    ONE_TRIAL,
    conclude,
)
from tests.lab.figures.claims import cells_of
from tests.lab.figures.phenomena import Happening, runs_of

FIGURES = [figure for figure in figures() if figure.id.partition(":")[0] in PAPERS]
QUICK = Options(cores=3, workers=(1, 2), quick=True)
"""A core is left for the generator, as claims on imbalance need."""
NOTHING = Happening(
    outputs=0, sustained=False, reconfigured=False, stepped=False, synchronizations=0
)
OF_COUNTS = ("stretch:8", "flumina:T1", "flumina:A2")
"""Some of their claims are on counts and answers, which do not depend on cores."""
WRONG = {"status": "wrong_output", "reason": "boom"}
ABSENT = {
    "outputs of every trial": Happening(outputs=0),
    "trials that sustained their load": Happening(sustained=False),
    "reconfigurations in every trial": Happening(reconfigured=False),
    "trials with a reconfiguration after the step": Happening(reconfigured=False),
    "trials whose offered rate stepped": Happening(stepped=False),
    "synchronizations of every trial": Happening(synchronizations=0),
}
"""By what a claim needs, runs that lack it."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """A function that gives the claims of a figure under what happened, each made once."""
    made = {}

    def claims(figure, happening, repetitions=3):
        known = (figure.id, id(happening), repetitions)
        if known not in made:
            folder = tmp_path_factory.mktemp(figure.slug)
            runs = runs_of(figure, QUICK, happening, folder, repetitions)
            made[known] = figure.outcome(QUICK, runs).claims
        return made[known]

    return claims


EVERYTHING = Happening()
pytestmark = pytest.mark.usefixtures("opponents_are_here")
figure_of_each = pytest.mark.parametrize("figure", FIGURES, ids=[figure.id for figure in FIGURES])


@figure_of_each
def test_every_claim_states_its_preconditions(outcomes, figure):
    claims = outcomes(figure, EVERYTHING)
    assert claims
    for claim in claims:
        assert claim.needs or absent((claim.system, claim.opponent)), claim.text


@figure_of_each
def test_nothing_is_judged_where_nothing_happened(outcomes, figure):
    claims = outcomes(figure, NOTHING)
    assert {claim.outcome for claim in claims} <= {*NO_OUTCOME}
    assert conclude(claims).verdict in NO_OUTCOME


@figure_of_each
def test_a_claim_whose_phenomenon_is_absent_is_not_judged(outcomes, figure):
    everything = outcomes(figure, EVERYTHING)
    needed = {need.quantity for claim in everything for need in claim.needs}
    for what in needed & ABSENT.keys():
        for before, claim in zip(everything, outcomes(figure, ABSENT[what]), strict=True):
            if claim.outcome == NOT_COMPARABLE or what not in {n.quantity for n in before.needs}:
                continue
            assert claim.outcome == NOT_JUDGED
            assert what in claim.reason


@figure_of_each
def test_one_trial_of_any_figure_is_drawn_and_not_judged(outcomes, figure):
    claims = outcomes(figure, EVERYTHING, repetitions=1)
    assert {claim.outcome for claim in claims} <= {*NO_OUTCOME}
    verdict = conclude(claims, quick=True)
    if verdict.verdict != NOT_COMPARABLE:
        assert verdict.text in (ONE_TRIAL, NOT_JUDGED)
    assert any(claim.measured for claim in claims)


@figure_of_each
def test_wrong_answers_have_no_numbers_and_are_named(figure, tmp_path):
    runs = [
        dataclasses.replace(run, rows=tuple(replace(row, **WRONG) for row in run.rows))
        for run in runs_of(figure, QUICK, EVERYTHING, tmp_path)
    ]
    try:
        outcome = figure.outcome(QUICK, runs)
    except FigureError as error:
        assert "wrong_output: boom" in str(error)
        return
    if figure.id != "flumina:T1":  # which judges whether answers are right
        assert {claim.outcome for claim in outcome.claims} <= {*NO_OUTCOME}
    assert any("has no number: wrong_output: boom" in note for note in outcome.notes)
    assert outcome.draw().axes


@figure_of_each
def test_workers_beyond_the_cores_are_drawn_and_not_judged(figure, tmp_path):
    crowded = Options(cores=1, workers=(2, 4), quick=True)
    outcome = figure.outcome(crowded, runs_of(figure, crowded, EVERYTHING, tmp_path))
    if figure.id not in OF_COUNTS:
        assert {claim.outcome for claim in outcome.claims} <= {*NO_OUTCOME}
    assert outcome.draw().axes


@figure_of_each
@pytest.mark.parametrize(
    "options",
    [Options(cores=2), Options(cores=2, quick=True), Options(cores=2, workers=(1, 2, 4))],
    ids=["usual", "quick", "workers"],
)
def test_every_cell_of_the_first_stage_can_be_run(figure, options):
    cells = cells_of(figure.id, options)
    assert cells
    environment = "lab environment flink"
    assert [c.id for c in cells if c.refusal and environment not in c.refusal] == []


def test_most_claims_are_judged_where_all_happened(outcomes):
    judged = [
        claim.outcome not in NO_OUTCOME
        for figure in FIGURES
        for claim in outcomes(figure, EVERYTHING)
        if claim.outcome != NOT_COMPARABLE
    ]
    assert sum(judged) > 0.7 * len(judged)
