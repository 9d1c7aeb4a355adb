"""Reproduces figure 14 of the ordered pipelines: both reordering buffers on the TPCx-BB queries."""

from typing import Any

from streamlab.lab.figures.experiment import asked, run_table, stage
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.judge import judge
from streamlab.lab.figures.measurements import all_of
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.ordered import systems
from streamlab.lab.figures.ordered.peaks import (
    BATCHES,
    NUMBERS,
    PAPERS_FORM,
    panel,
    peak_notes,
    peak_numbers,
    peaks_of,
    ratio,
    tables,
)
from streamlab.lab.figures.ordered.queries import NEEDS, QUERIES, workload_tables
from streamlab.lab.figures.ordered.shared import (
    NOISE,
    ORDERED,
    facts,
    in_order,
    several,
    worded_claim,
)
from streamlab.lab.figures.preconditions import trials
from streamlab.reports.figures.paper import Layout, draw
from streamlab.results.stats.estimates import highest

_BUFFERS = {"nonblocking": "non-blocking", "lock": "lock-based"}


def _tree(options: Options) -> dict[str, Any]:
    return {
        "run": run_table(options, timeout_s=600),
        "workload": workload_tables(options, BATCHES),
        "engine": [
            table
            for n in several(options)
            for reordering in _BUFFERS
            for table in tables(
                options, n, reordering, {"reordering": reordering, "worklist": "hybrid"}
            )
        ],
    }


def _outcome(options: Options, runs: Runs) -> Outcome:
    peaks = peaks_of(options, runs, tuple(_BUFFERS))
    latencies = [ratio(peaks, tuple(_BUFFERS), n, "late") for n in NUMBERS]
    same = facts().one(figure="14", quantity="latency")
    inverse = [ratio(peaks, tuple(reversed(_BUFFERS)), n, "late") for n in NUMBERS]
    needs = in_order(options, trials(runs[0], *PAPERS_FORM, workers=options.within))
    posed = (
        *(
            worded_claim(
                f"{query.panel}: non-blocking/lock-based ratio of throughput (3 % for noise)",
                "consistently better",
                "section 7.3.3",
            )
            .between(systems.NON_BLOCKING_SERIAL, systems.LOCK_SERIAL)
            .given(*needs)
            .shape(ratio(peaks, tuple(_BUFFERS), query.number, "rate"), NOISE, float("inf"), "x")
            for query in QUERIES
        ),
        asked("ratio of latency, whichever buffer's is higher by the other's, highest", same)
        .between(systems.NON_BLOCKING_SERIAL, systems.LOCK_SERIAL)
        .given(*needs)
        .near(all_of([*latencies, *inverse], highest), same.low, same.high, 0.5, "x"),
    )
    figure_notes = peak_notes(options, runs, "Hybrid queue.")
    return Outcome(
        claims=judge(posed),
        notes=figure_notes,
        numbers=peak_numbers(peaks),
        draw=lambda: draw(
            Layout(
                title="Ordered pipelines, figure 14: reordering schemes on TPCx-BB queries",
                rows=[
                    [
                        panel(peaks, _BUFFERS, "rate", "Peak throughput", "tuples/s"),
                        panel(
                            peaks, _BUFFERS, "late", "Latency there", "processing latency, mean, ms"
                        ),
                    ]
                ],
                notes=figure_notes,
            )
        ),
    )


FIGURE = Figure(
    id="ordered:14",
    title="non-blocking against lock-based reordering on the TPCx-BB queries",
    shows="peak throughput and processing latency of five queries, the paper's form and this lab's",
    needs=(*NEEDS, ORDERED),
    stages=(stage("reordering", "every query with both reordering buffers", _tree),),
    outcome=_outcome,
)
