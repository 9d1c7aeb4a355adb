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

TWO = Options(cores=2)
VARIANT = {"typed": "multicore/dataflow", "handcrafted": "multicore/vsn"}
HOME = "smart_home_prediction"


@pytest.fixture
def run_of(row, make_run):
    """The runs of a figure, on Storm and on the native engine, which is faster by another factor."""

    def make(rate, status="ok"):
        """`rate` is one in Storm, by workload, form and number of workers."""
        storm, native = [], []
        for (workload, form, workers), eps in rate.items():
            common = {"cpu_s": 0.1, "status": status}
            storm.append(row(workload, f"storm/{form}", workers, rate=eps, **common))
            faster = eps * (50 if form == "typed" else 10)
            key = f"{workload}@{form}"
            native.append(row(key, VARIANT[form], workers, rate=faster, **common))
        return make_run(storm, "storm"), make_run(native, "multicore")

    return make


@pytest.fixture
def yahoo(run_of):
    """The runs of figure 4: typed by handcrafted, of query I and of the others."""

    def make(first=1.12, others=0.9):
        rates = {
            (workload, form, workers): 1e5 * workers * (times if form == "typed" else 1.0)
            for number, workload in QUERIES.items()
            for times in [first if number == "I" else others]
            for form in FORMS
            for workers in (1, 2)
        }
        return run_of(rates)

    return make


@pytest.fixture
def homes(run_of):
    """The runs of figure 6, in which both forms grow so much from one worker to two."""

    def make(grown):
        return run_of(
            {(HOME, form, n): 1e5 * (grown if n == 2 else 1) for form in FORMS for n in (1, 2)}
        )

    return make


def test_the_published_quotients_reproduce_figure_4(yahoo):
    outcome = find("datatrace:4").outcome(TWO, yahoo())
    assert conclude(outcome.claims).verdict == REPRODUCED, outcome.claims
    assert len(outcome.draw().axes) == len(QUERIES)
    typed = outcome.numbers["query IV, typed in Storm"]
    assert typed["throughput_eps"]["2"][0]["median"] == 1.8e5
    assert typed["cpu_s_per_million"]["1"][0]["median"] == 0.1
    assert outcome.numbers["query IV, lab: typed"]["throughput_eps"]["2"][0]["median"] == 9e6


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
    storm = cells_of(f"datatrace:{number}", TWO)
    native = cells_of(f"datatrace:{number}", TWO, runs=(None,))
    assert {cell.variant for cell in storm} == set(FORMS)
    assert {cell.entry.query["form"] for cell in storm} == {"typed"}
    assert {cell.entry.query["form"] for cell in native} == set(FORMS)
    assert {cell.variant for cell in native if cell.entry.label == "typed"} == {"dataflow"}
    for cells in (storm, native):
        assert {cell.entry.params["streams"] for cell in cells} == {2}
        assert len({cell.entry.events for cell in cells}) == 1


def test_lines_of_code_are_those_that_do_something():
    source = Path("workloads/suite/ad_enrichment/typed.py").read_text(encoding="utf-8")
    lines = [line for line in source.splitlines() if line.strip()]
    counted = lines_of_code("ad_enrichment", "typed")
    assert 10 < counted < len(lines)
