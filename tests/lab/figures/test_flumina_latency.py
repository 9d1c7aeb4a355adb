"""Figure 10 of DGS: its offered loads, and its verdicts on known latencies."""

import numpy as np
import pytest

from streamlab.engines.protocol import Histogram
from streamlab.lab.figures.experiment import REPETITIONS
from streamlab.lab.figures.flumina import latency
from streamlab.lab.figures.flumina.paper_setup import DGS, FORMS, PUBLISHED, worker_counts
from streamlab.lab.figures.flumina.percentiles import tenth_ns
from streamlab.lab.figures.measurements import cells
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.registry import find
from streamlab.lab.figures.verdict import (
    CONTRADICTED,
    MET,
    MISSED,
    NOT_JUDGED,
    SHAPE_ONLY,
    conclude,
)
from streamlab.lab.measure.hdr import write_log
from streamlab.lab.measure.latency import percentile
from streamlab.results.seal import seal_files
from tests.lab.figures.claims import cells_of

TWO = Options(cores=2)
FIGURE = find("flumina:10")
US = 1_000
KEEP_UP = "workers that sustain their load"


@pytest.fixture
def late(row, make_run):
    """A run whose medians grow with workers, fall with the ratio, and with more heartbeats."""

    def make(options=TWO, keeps_up=64, grown=1.5, frequent=4.0, unsteady=1.2, rare=3.0, deeper=1.5):
        rows = []

        def cell(key, n, beats, p50_us, plan=None, status="ok"):
            for form in FORMS:
                label = f"{form}-{plan}" if plan else form
                p50_ns = round(p50_us * US) if form == PUBLISHED else US
                rows.append(
                    row(key, DGS, n, load=f"beats-{beats}", rate=1e5, label=label, status=status,
                        latency_p50_ns=p50_ns, latency_p90_ns=2 * p50_ns)
                )  # fmt: skip

        for place, ratio in enumerate(latency.RATIOS):
            for n in worker_counts(options):
                times = frequent ** ((2 - place) / 2)
                p50_us = 100 * times * (grown if n > 1 else 1.0)
                status = "unsustained" if ratio == 100 and n > keeps_up else "ok"
                key = latency.workers_key(ratio, n)
                cell(key, n, latency.USUAL_HEARTBEATS, p50_us, status=status)
        for beats in latency.HEARTBEATS:
            times = rare if beats == 1 else unsteady if beats == 10 else 1.0
            cell(latency.heartbeats_key(options), max(options.within), beats, 100 * times)
        for streams in latency.STREAMS:
            levels = streams.bit_length() - 1
            for plan, times in ((latency.SHALLOW, 1.0), (latency.DEEP, deeper ** (levels - 1))):
                key = latency.depth_key(streams)
                most = max(options.within)
                cell(key, most, latency.USUAL_HEARTBEATS, 100 * times, plan)
        return (make_run(rows, repetitions=REPETITIONS),)

    return make


def test_latencies_as_the_appendix_describes_them_have_the_figures_shape(late):
    outcome = FIGURE.outcome(TWO, late())
    assert conclude(outcome.claims).verdict == SHAPE_ONLY, outcome.claims
    assert {c.outcome for c in outcome.claims if KEEP_UP not in c.text} == {MET}
    assert len(outcome.draw().axes) == len(latency.RATIOS) + 2
    assert (
        outcome.numbers["DGS as published, 10000 values a barrier, 1 workers"]["p50_ns"]["median"]
        == 100 * US
    )
    deep = outcome.numbers["DGS as published, 16 streams, a leaf for each stream"]
    deep = deep["p50_ns"]["median"]
    assert deep == pytest.approx(1.5**3 * 100 * US, rel=1e-3)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"grown": 0.8}, "2 workers by that with 1"),
        ({"frequent": 0.5}, "100 values a barrier by that at 10,000"),
        ({"unsteady": 2.5}, "10 to 1000 heartbeats"),
        ({"rare": 0.7}, "at 1 heartbeat"),
        ({"deeper": 0.8}, "a leaf for each of 16 streams"),
    ],
)
def test_other_latencies_miss_their_claim(late, change, part):
    outcome = FIGURE.outcome(TWO, late(**change))
    assert {c.outcome for c in outcome.claims if part in c.text} == {MISSED}
    assert conclude(outcome.claims).verdict == CONTRADICTED


@pytest.mark.parametrize(("keeps_up", "found"), [(16, MET), (32, MISSED)])
def test_the_workers_that_keep_up_are_judged_where_more_than_22_have_a_core(late, keeps_up, found):
    options = Options(cores=32)
    run = late(options, keeps_up)
    (claim,) = [c for c in FIGURE.outcome(options, run).claims if KEEP_UP in c.text]
    assert (claim.outcome, claim.measured) == (found, f"{keeps_up} workers")
    for fewer in (TWO, Options(cores=32, workers=(1, 16))):
        (claim,) = [c for c in FIGURE.outcome(fewer, run).claims if KEEP_UP in c.text]
        assert claim.outcome == NOT_JUDGED
        assert "workers above 22 with a core each: 0, at least 1 needed" in claim.reason


def test_one_core_tells_nothing_of_growth(late):
    outcome = FIGURE.outcome(Options(cores=1, workers=(1,)), late())
    assert outcome.claims[0].outcome == NOT_JUDGED


def test_a_tenth_is_taken_from_the_stored_histogram(late, row, make_run, tmp_path):
    values = np.arange(1, 201, dtype=np.int64) * US
    made = Histogram(values_ns=values, counts=np.ones(200, dtype=np.int64), definition="due to out")
    assert percentile(made, 100) == 20 * US
    few = Histogram(values_ns=values[:99], counts=made.counts[:99], definition="due to out")
    assert percentile(few, 100) is percentile(few, 900) is None  # not ten below, or above
    key = latency.workers_key(100, 1)
    kept = row(key, DGS, 1, load="beats-10", rate=1e5, histograms="series/one.hlog")
    run = make_run([kept], repetitions=1)
    log = run.path / "series" / "one.hlog"
    write_log({"latency": made}, 1.0, log)
    seal_files(run.path, log)
    (cell,) = cells(run, key, DGS)
    found = tenth_ns(run)(cell)
    assert found is not None and found.median == pytest.approx(20 * US, rel=2e-3)


@pytest.mark.parametrize("options", [TWO, Options(cores=2, quick=True), Options(cores=4)])
def test_every_cell_has_the_load_of_its_streams(options):
    cells = cells_of("flumina:10", options)
    sweep = len(latency.RATIOS) * len(worker_counts(options))
    deep = len(latency.streams(options)) * len(latency.PLANS)
    assert len(cells) == len(FORMS) * (sweep + len(latency.heartbeats(options)) + deep)
    assert {cell.options.get("form") for cell in cells} == {"as-published", None}
    for cell in cells:
        ratio, streams = (cell.entry.params[name] for name in ("values_per_barrier", "streams"))
        assert streams == cell.workers or cell.entry.label.startswith("deep-")
        assert cell.load.rate_eps == pytest.approx(latency.RATE_EPS * (streams + 1 / ratio))
        seconds = cell.load.warm_up_s + cell.load.window_s
        assert cell.entry.events > seconds * cell.load.rate_eps
        # Windows for a 90th percentile, but for quick runs of the highest ratio.
        windows = latency.RATE_EPS / ratio * cell.load.window_s
        assert windows >= (100 if not options.quick else 20)
    given = {cell.load.heartbeats_per_barrier for cell in cells}
    assert given == {latency.USUAL_HEARTBEATS, *latency.heartbeats(options)}
