"""Figure 11 of the ordered pipelines: both kinds of queue on the TPCx-BB queries."""

from typing import Any

from lab.figures.experiment import asked, run_table
from lab.figures.figure import Figure, Outcome, Runs
from lab.figures.measured import quotient
from lab.figures.options import Options
from lab.figures.ordered.peaks import (
    BATCHES,
    NUMBERS,
    panel,
    peak_notes,
    peak_numbers,
    peaks_of,
    ratio,
    tables,
)
from lab.figures.ordered.queries import NEEDS, QUERIES, workload_tables
from lab.figures.ordered.shared import ORDERED, facts, said, several, stage
from lab.figures.verdict import Claim
from reports.figures.paper import Layout, draw

_QUEUES = {"hybrid": "hybrid queue", "partitioned": "partitioned queue"}


def _tree(options: Options) -> dict[str, Any]:
    shares = int(facts().one(figure="9", series="hybrid", quantity="partitions").low)
    return {
        "run": run_table(options, timeout_s=600, repetitions=3),
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
    lates = [ratio(peaks, tuple(_QUEUES), n, "late") for n in NUMBERS]
    claims: list[Claim] = [
        said(
            f"{query.panel}: the hybrid queue's throughput by the partitioned queue's",
            "much higher",
            "section 7.2.3",
        ).shape(rates[query.number], 1.0, float("inf"), "x")
        for query in QUERIES
        if query.number != 15  # of which the paper says that the difference is unclear
    ]
    two, one = (
        [r for q in QUERIES if q.partitioned == n and (r := rates[q.number]) is not None]
        for n in (2, 1)
    )
    more = quotient(sum(two) / len(two), sum(one) / len(one)) if two and one else None
    earlier = facts().one(figure="11", series="hybrid", quantity="queries with lower latency")
    known = [late for late in lates if late is not None]
    claims += [
        said(
            "hybrid gains more on queries with two partitioned operators (1, 2, 3) than with one",
            "the difference is higher",
            "section 7.2.3",
        ).shape(more, 1.0, float("inf"), "x"),
        asked("queries with a lower latency under the hybrid queue", earlier).at_least(
            sum(late < 1 for late in known) if len(known) == len(lates) else None,
            earlier.low,
            "queries",
        ),
    ]
    mentioned = peak_notes(
        options,
        runs,
        "Partitions: 100 with the hybrid queue, as many as workers with the partitioned queue.",
    )
    return Outcome(
        claims=tuple(claims),
        notes=mentioned,
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
                notes=mentioned,
            )
        ),
    )


FIGURE = Figure(
    id="ordered:11",
    title="hybrid against partitioned queue on the TPCx-BB queries",
    shows="peak throughput and processing latency of five queries, by tuples and by blocks",
    needs=(*NEEDS, ORDERED),
    stages=(stage("queues", "every query on both kinds of queue", _tree),),
    outcome=_outcome,
)
