"""The figures of Data-Trace Types: their experiments, and their verdicts on known numbers."""

from pathlib import Path

import pytest

from streamlab.lab.figures.datatrace.queries import FORMS, QUERIES, lines_of_code
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

pytestmark = pytest.mark.usefixtures("opponents_are_here")
TWO = Options(cores=2)
VARIANT = {"typed": "multicore/dataflow", "handcrafted": "multicore/vsn"}
HOME = "smart_home_prediction"


@pytest.fixture
def yahoo(row, make_run):
    """The run of figure 4: typed by handcrafted, of query I and of the others."""

    def make(first=1.12, others=0.9, status="ok"):
        rows = [
            row(
                f"{workload}@{form}",
                VARIANT[form],
                workers,
                rate=1e7 * workers * (times if form == "typed" else 1.0),
                status=status,
                cpu_s=0.1,
            )
            for number, workload in QUERIES.items()
            for times in [first if number == "I" else others]
            for form in FORMS
            for workers in (1, 2)
        ]
        return (make_run(rows),)

    return make


@pytest.fixture
def homes(row, make_run):
    """The run of figure 6, in which the typed form grows so much from one worker to two."""

    def make(grown):
        rows = [
            row(f"{HOME}@{form}", VARIANT[form], n, rate=1e7 * (grown if n == 2 else 1), cpu_s=0.1)
            for form in FORMS
            for n in (1, 2)
        ]
        return (make_run(rows),)

    return make


def test_the_published_quotients_reproduce_figure_4(yahoo):
    outcome = find("datatrace:4").outcome(TWO, yahoo())
    assert conclude(outcome.claims).verdict == REPRODUCED, outcome.claims
    assert len(outcome.draw().axes) == len(QUERIES)
    assert outcome.numbers["query IV, typed"]["throughput_eps"]["2"][0]["median"] == 1.8e7
    assert outcome.numbers["query IV, typed"]["cpu_s_per_million"]["1"][0]["median"] == 0.1


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"others": 0.7}, "lowest of queries II to VI"),
        ({"others": 1.2}, "highest of queries II to VI"),
        ({"first": 1.0}, "query I, lowest"),
        ({"first": 1.8}, "query I, highest"),
    ],
)
def test_other_quotients_miss_their_claim(yahoo, change, part):
    outcome = find("datatrace:4").outcome(TWO, yahoo(**change))
    assert outcomes(outcome, part) == {MISSED}
    assert conclude(outcome.claims).verdict == CONTRADICTED


@pytest.mark.parametrize(("grown", "came"), [(1.9, MET), (1.2, MISSED), (3.0, MISSED)])
def test_growth_with_workers_is_judged(homes, grown, came):
    outcome = find("datatrace:6").outcome(TWO, homes(grown))
    assert outcomes(outcome, "typed throughput with 2 workers by that with 1") == {came}
    assert outcome.draw().axes


def test_one_core_tells_nothing_of_growth(homes):
    outcome = find("datatrace:6").outcome(Options(cores=1, workers=(1,)), homes(2.0))
    assert {claim.outcome for claim in outcome.claims} == {NOT_JUDGED}


@pytest.mark.parametrize("number", ["4", "6"])
def test_both_forms_are_run_on_one_input(number):
    cells = cells_of(f"datatrace:{number}", TWO)
    assert {cell.entry.query["form"] for cell in cells} == set(FORMS)
    assert {cell.entry.params["streams"] for cell in cells} == {2}
    assert {cell.variant for cell in cells if cell.entry.label == "typed"} == {"dataflow"}


def test_lines_of_code_are_those_that_do_something():
    source = Path("workloads/suite/ad_enrichment/typed.py").read_text(encoding="utf-8")
    lines = [line for line in source.splitlines() if line.strip()]
    counted = lines_of_code("ad_enrichment", "typed")
    assert 10 < counted < len(lines)
