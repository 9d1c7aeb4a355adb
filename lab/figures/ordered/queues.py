"""Reproduces figure 11 of the ordered pipelines: both kinds of queue on the TPCx-BB queries."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from streamlab.lab.figures.experiment import asked, run_table, stage
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.judge import Posed, judge
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
from streamlab.lab.figures.ordered.shared import ORDERED, facts, in_order, several, worded_claim
from streamlab.lab.figures.preconditions import trials
from streamlab.reports.figures.paper import Layout, draw
from streamlab.results.stats.estimates import Combined, Estimate

_QUEUES = {"hybrid": "hybrid queue", "partitioned": "partitioned queue"}


def _tree(options: Options) -> dict[str, Any]:
    shares = int(facts().one(figure="9", series="hybrid", quantity="partitions").low)
    return {
        "run": run_table(options, timeout_s=600),
        "workload": workload_tables(options, BATCHES),
        "engine": [
            table
            for n in several(options)
            for worklist, partitions in (("hybrid", shares), ("partitioned", n))
            for table in tables(
                options, n, worklist, {"worklist": worklist, "partitions": partitions}
            )
        ],
    }


def _outcome(options: Options, runs: Runs) -> Outcome:
    peaks = peaks_of(options, runs, tuple(_QUEUES))
    rates = {n: ratio(peaks, tuple(_QUEUES), n, "rate") for n in NUMBERS}
    latencies = [ratio(peaks, tuple(_QUEUES), n, "late") for n in NUMBERS]
    needs = in_order(options, trials(runs[0], *PAPERS_FORM, workers=options.within))
    posed: list[Posed] = [
        worded_claim(
            f"{query.panel}: the hybrid queue's throughput by the partitioned queue's",
            "much higher",
            "section 7.2.3",
        )
        .between(systems.HYBRID_SERIAL, systems.PARTITIONED_SERIAL)
        .given(*needs)
        .shape(rates[query.number], 1.0, float("inf"), "x")
        for query in QUERIES
        if query.number != 15  # the paper calls its difference unclear
    ]
    double, single = ([rates[q.number] for q in QUERIES if q.partitioned == n] for n in (2, 1))

    def relative_gain(parts: Sequence[Estimate]) -> Estimate:
        """Return the mean gain with two partitioned operators by that with one."""
        count = len(double)
        return Combined(
            lambda values: fmean(values[:count]) / fmean(values[count:]),
            tuple(parts[:count]),
            tuple(parts[count:]),
        )

    earlier = facts().one(figure="11", series="hybrid", quantity="queries with lower latency")
    posed += [
        worded_claim(
            "hybrid gains more on queries with two partitioned operators (1, 2, 3) than with one",
            "the difference is higher",
            "section 7.2.3",
        )
        .between(systems.HYBRID_SERIAL, systems.PARTITIONED_SERIAL)
        .given(*needs)
        .shape(all_of([*double, *single], relative_gain), 1.0, float("inf"), "x"),
        asked("queries with a lower latency under the hybrid queue", earlier)
        .between(systems.HYBRID_SERIAL, systems.PARTITIONED_SERIAL)
        .given(*needs)
        .at_least(
            all_of(latencies, _count_below_one),
            earlier.low,
            "queries",
        ),
    ]
    figure_notes = peak_notes(
        options,
        runs,
        "Partitions: 100 with the hybrid queue, as many as workers with the partitioned queue.",
    )
    return Outcome(
        claims=judge(posed),
        notes=figure_notes,
        numbers=peak_numbers(peaks),
        draw=lambda: draw(
            Layout(
                title="Ordered pipelines, figure 11: partitioning schemes on TPCx-BB queries",
                rows=[
                    [
                        panel(peaks, _QUEUES, "rate", "Peak throughput", "tuples/s"),
                        panel(
                            peaks, _QUEUES, "late", "Latency there", "processing latency, mean, ms"
                        ),
                    ]
                ],
                notes=figure_notes,
            )
        ),
    )


def _count_below_one(ratios: Sequence[Estimate]) -> Estimate:
    """Return the number of ratios below 1."""
    return Combined(lambda values: sum(value < 1 for value in values), (), tuple(ratios))


FIGURE = Figure(
    id="ordered:11",
    title="hybrid against partitioned queue on the TPCx-BB queries",
    shows="peak throughput and processing latency of five queries, the paper's form and this lab's",
    needs=(*NEEDS, ORDERED),
    stages=(stage("queues", "every query on both kinds of queue", _tree),),
    outcome=_outcome,
)
