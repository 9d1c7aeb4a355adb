"""Figures A1 and A2 of DGS: the case studies, and their verdicts on known numbers."""

import pytest

from streamlab.lab.figures.flumina import homes, throughput
from streamlab.lab.figures.flumina.paper_setup import (
    BLOCK,
    DGS,
    FORMS,
    OWN,
    PUBLISHED,
    SERIES,
    SINGLE,
    worker_counts,
)
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.registry import find
from streamlab.lab.figures.verdict import (
    CONTRADICTED,
    MET,
    MISSED,
    NOT_COMPARABLE,
    NOT_JUDGED,
    SHAPE_ONLY,
    conclude,
)
from tests.lab.figures.claims import cells_of, form_of, outcomes

TWO = Options(cores=2)
EIGHT = Options(cores=8, workers=(1, 8))
A1, A2 = find("flumina:A1"), find("flumina:A2")


@pytest.fixture
def grown(row, make_run):
    """The run of A1, in which outlier detection grows so much from one worker to `many`."""

    def make(times, many=2):
        rows = [
            row(throughput.OUTLIERS, DGS, n, batch=batch, label=form,
                rate=1e6 * (times if n > 1 and form == PUBLISHED else 1))
            for form, batch in SERIES
            for n in (1, many)
        ]  # fmt: skip
        return (make_run(rows),)

    return make


def test_the_published_growth_has_the_shape_and_the_program_by_hand_is_absent(grown):
    outcome = A1.outcome(EIGHT, grown(7.3, many=8))
    assert outcomes(outcome, "outlier detection, DGS") == {MET}
    assert outcomes(outcome, "by the handcrafted program") == {NOT_COMPARABLE}
    assert any("opponent absent" in claim.reason for claim in outcome.claims)
    assert conclude(outcome.claims).verdict == SHAPE_ONLY, outcome.claims
    assert (
        outcome.numbers["DGS as published, event by event"]["throughput_eps"]["8"][0]["median"]
        == 7.3e6
    )
    assert len(outcome.draw().axes) == 2


@pytest.mark.parametrize(("times", "came"), [(1.9, MET), (1.7, MISSED)])
def test_two_cores_are_judged_by_the_share_of_linear_growth(grown, times, came):
    outcome = A1.outcome(TWO, grown(times))
    assert outcomes(outcome, "with 2 workers by that with 1 (0.91 of linear") == {came}
    assert outcomes(outcome, "with 8 workers") == {NOT_JUDGED}
    assert conclude(outcome.claims).verdict == (SHAPE_ONLY if came == MET else CONTRADICTED)


def test_outlier_detection_has_as_many_connections_as_the_kdd_file_and_checks_as_often():
    cells = cells_of("flumina:A1", TWO)
    assert {(cell.workers, form_of(cell), cell.batch) for cell in cells} == {
        (n, *form) for n in (1, 2) for form in SERIES
    }
    (entry,) = {cell.entry.key: cell.entry for cell in cells}.values()
    assert entry.events == 494_021
    per_check = entry.params["streams"] * entry.params["connections_per_check"]
    assert per_check == throughput.CONNECTIONS_PER_CHECK


@pytest.fixture
def homely(row, make_run):
    """The run of A2, in which two workers move so much of what is processed where slices end for
    all."""

    def make(share):
        rows = []
        for ends in homes.ENDS:
            for n in worker_counts(TWO):
                moved = 0 if n == 1 else round(share * 1e6) if ends == homes.ALL else 0
                counters = {
                    "synchronizations": 9,
                    "state_bytes_moved": moved,
                    "record_bytes_moved": 0 if n == 1 else 50,
                    "record_bytes": 1_000_000,
                }
                for form, batch in ((PUBLISHED, SINGLE), (OWN, BLOCK)):
                    rows += [
                        row(homes.key(ends, homes.FULL), DGS, n, rate=1e7 * n, batch=batch,
                            counters=counters, label=form),
                        row(homes.key(ends, homes.OFFERED), DGS, n, load=homes.OFFERED, rate=1e5,
                            label=form, latency_p50_ns=90_000 * n, latency_p90_ns=200_000 * n),
                    ]  # fmt: skip
        return (make_run(rows),)

    return make


@pytest.mark.parametrize(
    ("share", "shape", "value", "verdict"),
    [
        (0.01, MET, MET, SHAPE_ONLY),
        (0.3, MET, MISSED, SHAPE_ONLY),
        (3.0, MISSED, MISSED, CONTRADICTED),
    ],
)
def test_bytes_are_judged_by_those_processed_where_slices_end_for_all(
    homely, share, shape, value, verdict
):
    outcome = A2.outcome(TWO, homely(share))
    assert outcomes(outcome, "less is moved") == {shape}
    assert outcomes(outcome, "bytes moved by bytes processed") == {value}
    assert outcomes(outcome, "challenge's winner") == {NOT_COMPARABLE}
    assert conclude(outcome.claims).verdict == verdict
    assert len(outcome.draw().axes) == 3
    two = outcome.numbers[homes.LINES[PUBLISHED, homes.ALL]]["moved_by_processed"]["2"][0]
    assert two["median"] == pytest.approx(share + 5e-5)


def test_latency_has_its_percentiles_by_ends_and_workers(homely):
    outcome = A2.outcome(TWO, homely(0.3))
    found = outcome.numbers["own form, slices end house by house, 2 workers"]
    assert {name: found[name]["median"] for name in found} == {"p50_ns": 180_000, "p90_ns": 400_000}
    assert any("neither the latencies of DGS" in note for note in outcome.notes)


def test_one_worker_moves_nothing(homely):
    one = A2.outcome(Options(cores=2, workers=(1,)), homely(0.3))
    assert one.draw().axes


@pytest.mark.parametrize("options", [TWO, Options(cores=2, quick=True)])
def test_homes_are_the_papers_at_full_speed_and_under_a_load_that_ends_slices_soon(options):
    cells = cells_of("flumina:A2", options)
    assert {(cell.workers, form_of(cell)) for cell in cells} == {
        (n, form) for n in (1, 2, 4) for form in FORMS
    }
    for cell in cells:
        params = cell.entry.params
        plugs = params["households_per_house"] * params["plugs_per_household"]
        assert (params["houses"], plugs) == (20, 52)
        assert cell.entry.query["plugs_per_household"] == params["plugs_per_household"]
        slice_events = params["houses"] * plugs * params["slice_s"] / params["period_s"]
        if cell.load is None:
            assert params["period_s"] == 2 and cell.entry.events > 2 * slice_events
        else:
            ends = cell.load.rate_eps * cell.load.window_s / slice_events
            assert ends == pytest.approx(30 if options.quick else 120)
            length_s = cell.load.warm_up_s + cell.load.window_s
            assert cell.entry.events > length_s * cell.load.rate_eps
