"""Figures 4 and 6 and table 1 of DGS: engines by themselves, by hand, and what parallelism costs."""

import json

import pytest

from streamlab.lab.figures.flumina.forms import EVEN, PARTS, UNEVEN, VARIANTS, degrees
from streamlab.lab.figures.flumina.paper_setup import FRAUD, JOIN, OWN, PROGRAMS, WINDOW
from streamlab.lab.figures.flumina.tradeoffs import PIPS, properties
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.registry import find
from streamlab.lab.figures.verdict import (
    CONTRADICTED,
    MET,
    MISSED,
    NOT_JUDGED,
    REPRODUCED,
    conclude,
)
from tests.lab.figures.claims import cells_of, outcomes

TWO = Options(cores=2)
TWELVE = Options(cores=12, workers=(1, 12))
GROWN = {
    (WINDOW, "F"): 10.0, (WINDOW, "DGS"): 8.0,
    (JOIN, "F"): 2.0, (JOIN, "FM"): 9.0, (JOIN, "DGS"): 8.0,
    (FRAUD, "F"): 1.0, (FRAUD, "FM"): 9.0, (FRAUD, "DGS"): 8.0,
    (WINDOW, "TD"): 8.0, (JOIN, "TD"): 1.0, (JOIN, "TDM"): 2.0, (FRAUD, "TD"): 6.0,
}  # fmt: skip
HERE = "flink has no environment: lab environment flink"


def declared(form):
    denied = {"FM": PIPS, "TDM": ("PIP2",)}.get(form, ())
    said = {pip: {"holds": pip not in denied, "why": "declared"} for pip in PIPS}
    return json.dumps(said)


@pytest.fixture
def forms(row, make_run):
    """A run of all forms, grown as published at 12 workers; `wrong` cells gave a wrong answer."""

    def make(many=12, wrong=(), absent=(), grown=GROWN):
        rows = []
        for program in PROGRAMS:
            for form, variant in VARIANTS.items():
                for label, workers in ((EVEN, (1, many)), (UNEVEN, (many,))):
                    for n in workers:
                        status = "wrong_output" if (program, form, label, n) in wrong else "ok"
                        if form in absent:
                            status = "unsupported"
                        times = 1 + (grown.get((program, form), 1.0) - 1) * (n - 1) / 11
                        rows.append(
                            row(f"{program.workload}@{label}", variant, n, rate=1e6 * times,
                                status=status, batch=1, properties=declared(form), reason=HERE,
                                label=PARTS.get(form, "/")[1:])
                        )  # fmt: skip
        return make_run(rows)

    return make


@pytest.fixture
def late(row, make_run):
    """The second run of figure 6: so many ms by form."""

    def make(by_form):
        return make_run(
            [
                row(f"{p.workload}@{EVEN}", VARIANTS[form], n, load="at70-1", rate=1e5,
                    latency_p50_ns=round(ms * 1e6))
                for p in (JOIN, FRAUD)
                for form, ms in by_form.items()
                for n in (1, 12)
            ],
            name="late",
        )  # fmt: skip

    return make


def test_engines_that_scale_as_published_have_the_shape(forms):
    outcome = find("flumina:4").outcome(TWELVE, (forms(),))
    assert {claim.outcome for claim in outcome.claims} == {MET, NOT_JUDGED}
    assert outcomes(outcome, "does not scale, 12 workers by 1") == {MET}
    assert outcomes(outcome, "event window, TD: throughput with 12 workers by that with 1 (") == {
        MET
    }
    assert outcomes(outcome, "page-view join, TD: throughput with the most") == {NOT_JUDGED}
    assert len(outcome.draw().axes) == len(PROGRAMS)


def test_flink_whose_fraud_detection_scales_contradicts_figure_4(forms):
    outcome = find("flumina:4").outcome(TWELVE, (forms(grown=GROWN | {(FRAUD, "F"): 6.0}),))
    assert outcomes(outcome, "fraud detection: Flink does not scale") == {MISSED}
    assert conclude(outcome.claims).verdict == CONTRADICTED


@pytest.mark.parametrize(("number", "form", "came"), [("4", "F", NOT_JUDGED), ("T1", "DGS", MET)])
def test_without_flinks_environment_the_figure_says_so_and_goes_on(forms, number, form, came):
    outcome = find(f"flumina:{number}").outcome(TWELVE, (forms(absent=("F", "FM")),))
    assert any("Flink by itself did not run: flink has no env" in note for note in outcome.notes)
    assert outcomes(
        outcome, f"event window, {form}: throughput with 12 workers by that with 1"
    ) == {came}
    assert not [claim.text for claim in outcome.claims if "1 workers" in claim.text]
    assert outcome.draw().axes


def test_synchronization_by_hand_that_is_faster_and_sooner_reproduces_figure_6(forms, late):
    outcome = find("flumina:6").outcome(TWELVE, (forms(), late({"F": 50, "FM": 5})))
    assert {claim.outcome for claim in outcome.claims} == {MET}, outcome.claims
    outcome = find("flumina:6").outcome(TWELVE, (forms(), late({"F": 5, "FM": 50})))
    assert outcomes(outcome, "manual latency by automatic") == {MISSED}
    assert len(outcome.draw().axes) == 4


def test_two_pages_keep_two_workers_busy_so_that_two_cores_tell_nothing_of_the_join(forms, late):
    outcome = find("flumina:6").outcome(TWO, (forms(many=2), late({"F": 5, "FM": 5})))
    assert outcomes(outcome, "page-view join: manual throughput") == {NOT_JUDGED}
    assert outcomes(outcome, "fraud detection: manual throughput") <= {MET, MISSED}


def test_the_latency_of_figure_6_is_measured_of_its_own_cells_only(forms):
    stage = find("flumina:6").stages[1]
    loads = stage.plan(TWELVE, (forms(),)).tree["load"]
    assert {load["workloads"][0] for load in loads} == {f"{p.workload}@even" for p in (JOIN, FRAUD)}
    assert {load["engines"][0] for load in loads} == {VARIANTS["F"], VARIANTS["FM"]}


def test_right_answers_everywhere_and_the_engines_word_are_the_published_table(forms):
    run = forms()
    outcome = find("flumina:T1").outcome(TWELVE, (run,))
    assert outcomes(outcome, "how many of PIP1 to PIP3 are as published") == {MET}
    assert outcome.numbers["fraud detection, Flink, manual synchronization"] == {
        "properties": "PIP1 no, PIP2 no, PIP3 no"
    }
    assert conclude(outcome.claims).verdict == REPRODUCED, outcome.claims
    assert len(outcome.draw().axes) == len(PROGRAMS)


@pytest.mark.parametrize(
    ("wrong", "broken"),
    [
        ((WINDOW, "DGS", EVEN, 12), {"PIP1", "PIP2", "PIP3"}),
        ((WINDOW, "DGS", UNEVEN, 12), {"PIP2", "PIP3"}),
    ],
)
def test_a_wrong_answer_with_other_workers_or_streams_takes_the_tick_away(forms, wrong, broken):
    run = forms(wrong=(wrong,))
    held = properties((run,), WINDOW, "DGS")
    assert held and {pip for pip in PIPS if not held[0][pip]} == broken
    outcome = find("flumina:T1").outcome(TWELVE, (run,))
    assert outcomes(outcome, "event window: DGS, how many of PIP1") == {MISSED}
    assert conclude(outcome.claims).verdict == CONTRADICTED


def test_a_wrong_answer_of_this_labs_own_form_is_drawn_and_not_judged(forms):
    outcome = find("flumina:T1").outcome(TWELVE, (forms(wrong=((WINDOW, OWN, EVEN, 12),)),))
    assert outcome.numbers["event window, DGS, own form"] == {
        "properties": "PIP1 no, PIP2 no, PIP3 no"
    }
    assert conclude(outcome.claims).verdict == REPRODUCED, outcome.claims


def test_no_two_claims_of_the_table_have_one_text(forms):
    claims = [claim.text for claim in find("flumina:T1").outcome(TWELVE, (forms(),)).claims]
    assert len(set(claims)) == len(claims)


@pytest.mark.parametrize("number", ["4", "6", "T1"])
def test_t1_has_the_cells_of_the_others(number):
    cells = cells_of(f"flumina:{number}", TWO)
    assert {cell.workers for cell in cells} == set(degrees(TWO)) == {1, 2, 3}
    every = cells_of("flumina:T1", TWO)
    assert {cell.id for cell in cells} <= {cell.id for cell in every}
    uneven = {c.entry.params["streams"] for c in every if c.entry.label == UNEVEN}
    assert uneven == {3} and {c.workers for c in every if c.entry.label == UNEVEN} == {3}
