"""Figures 11 and 14 of the ordered pipelines: two schemes on the TPCx-BB queries.

Each query has its peak: the best number of workers within the cores, and the latency there. The
claims are about a tuple at a time, as in the paper; blocks of 64 are drawn beside them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.figures.experiment import asked, engine, plain, run_table
from lab.figures.figure import Figure, Outcome, Runs
from lab.figures.measured import cells, quotient
from lab.figures.options import Options
from lab.figures.ordered.queries import DESCRIPTION, NEEDS, QUERIES, key, workload_tables
from lab.figures.ordered.shared import (
    BLOCK,
    FULL_LATENCY_NOTE,
    LATENCY,
    NOISE,
    ORDERED,
    RATE,
    TUPLE,
    facts,
    notes,
    said,
    several,
    spot,
    spread_numbers,
    stage,
)
from lab.figures.verdict import Claim
from reports.figures.paper import Layout, Line, Panel, Point, draw
from results.query import CellSummary, Spread

BATCHES = (TUPLE, BLOCK)
_GRANULARITY = {TUPLE: "a tuple at a time", BLOCK: f"blocks of {BLOCK}"}
_SHIFT = 0.16
"""Between series at one query, of the distance between queries."""
_NUMBERS = tuple(query.number for query in QUERIES)


@dataclass(frozen=True, slots=True)
class Peak:
    """A query's best cell: its throughput (tuples/s) and latency (ms); open: beyond the cores."""

    rate: Spread
    late: Spread | None
    is_open: bool


Peaks = Mapping[tuple[str, int, int], Peak | None]
"""By scheme, granularity and query."""


def _peaks(options: Options, runs: Runs, schemes: Sequence[str]) -> Peaks:
    def best(scheme: str, batch: int, workload: str) -> Peak | None:
        found: list[tuple[bool, float, CellSummary, Spread]] = []
        for cell in cells(runs[0], workload, ORDERED):
            rate = RATE(cell) if f"/b{batch}/{scheme}" in cell.cell else None
            if rate is not None:
                found.append((cell.workers <= options.cores, rate.median, cell, rate))
        if not found:
            return None
        within, _, cell, rate = max(found, key=lambda each: each[:2])
        return Peak(rate, LATENCY(cell), not within)

    return {
        (scheme, batch, query.number): best(scheme, batch, key(query, batch))
        for scheme in schemes
        for batch in BATCHES
        for query in QUERIES
    }


def _ratio(peaks: Peaks, schemes: Sequence[str], number: int, quantity: str) -> float | None:
    """Return the first scheme's peak by the second's, a tuple at a time, within the cores."""
    pair = []
    for scheme in schemes:
        peak = peaks[scheme, TUPLE, number]
        if peak is None or peak.is_open:
            return None
        spread = peak.rate if quantity == "rate" else peak.late
        pair.append(None if spread is None else spread.median)
    return quotient(*pair)


def _panel(
    peaks: Peaks, names: Mapping[str, str], quantity: str, title: str, y_label: str
) -> Panel:
    series = [(scheme, batch) for batch in BATCHES for scheme in names]
    lines = []
    for place, (scheme, batch) in enumerate(series):
        found: list[Point] = []
        for x, number in enumerate(_NUMBERS):
            peak = peaks[scheme, batch, number]
            spread = None if peak is None else peak.rate if quantity == "rate" else peak.late
            at = x + (place - (len(series) - 1) / 2) * _SHIFT
            found += spot(at, spread, is_open=peak is not None and peak.is_open)
        lines.append(
            Line(
                name=f"{names[scheme]}, {_GRANULARITY[batch]}",
                points=found,
                colour=place,
                style="marks",
            )
        )
    return Panel(
        title=title,
        y_label=y_label,
        x_label="query",
        lines=lines,
        log_y=True,
        ticks=range(len(_NUMBERS)),
        tick_names=[str(number) for number in _NUMBERS],
        write=None if quantity == "rate" else plain,
    )


def _numbers(peaks: Peaks) -> dict[str, Any]:
    return {
        f"query {number}, {scheme}, batch {batch}": spread_numbers(
            {"throughput_eps": peak.rate, "latency_ms": peak.late}
        )
        for (scheme, batch, number), peak in peaks.items()
        if peak is not None
    }


def _figure_notes(options: Options, runs: Runs, *more: str) -> tuple[str, ...]:
    return notes(
        options,
        runs,
        several(options),
        f"Queries of TPCx-BB: {DESCRIPTION} Peak of {', '.join(map(str, several(options)))} "
        "workers, scheduler CT.",
        *more,
        FULL_LATENCY_NOTE,
        "The paper gives no absolute numbers of this figure in its text: nothing to overlay.",
    )


# Figure 11


_QUEUES = {"hybrid": "hybrid queue", "partitioned": "partitioned queue"}


def _tree_11(options: Options) -> dict[str, Any]:
    shares = int(facts().one(figure="9", series="hybrid", quantity="partitions").low)
    return {
        "run": run_table(options, timeout_s=600, repetitions=3),
        "workload": workload_tables(options, BATCHES),
        "engine": [
            table
            for n in several(options)
            for worklist, partitions in (("hybrid", shares), ("partitioned", n))
            for table in _tables(
                options, n, worklist, {"worklist": worklist, "partitions": partitions}
            )
        ],
    }


def _tables(
    options: Options, workers: int, label: str, chosen: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return an `[[engine]]` table for each granularity, which reads the input of its size."""
    return [
        engine(
            ORDERED,
            options,
            workers=[workers],
            batch=[batch],
            workloads=[f"*@b{batch}"],
            options=chosen,
            label=label,
        )
        for batch in BATCHES
    ]


def _outcome_11(options: Options, runs: Runs) -> Outcome:
    peaks = _peaks(options, runs, tuple(_QUEUES))
    rates = {n: _ratio(peaks, tuple(_QUEUES), n, "rate") for n in _NUMBERS}
    lates = [_ratio(peaks, tuple(_QUEUES), n, "late") for n in _NUMBERS]
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
    mentioned = _figure_notes(
        options,
        runs,
        "Partitions: 100 with the hybrid queue, as many as workers with the partitioned queue.",
    )
    return Outcome(
        claims=tuple(claims),
        notes=mentioned,
        numbers=_numbers(peaks),
        draw=lambda: draw(
            Layout(
                title="Ordered pipelines, figure 11: partitioning schemes on TPCx-BB queries",
                rows=[
                    [
                        _panel(peaks, _QUEUES, "rate", "Peak throughput", "tuples/s"),
                        _panel(
                            peaks, _QUEUES, "late", "Latency there", "processing latency, mean, ms"
                        ),
                    ]
                ],
                notes=mentioned,
            )
        ),
    )


# Figure 14


_BUFFERS = {"nonblocking": "non-blocking", "lock": "lock-based"}


def _tree_14(options: Options) -> dict[str, Any]:
    return {
        "run": run_table(options, timeout_s=600, repetitions=3),
        "workload": workload_tables(options, BATCHES),
        "engine": [
            table
            for n in several(options)
            for reordering in _BUFFERS
            for table in _tables(options, n, reordering, {"reordering": reordering})
        ],
    }


def _outcome_14(options: Options, runs: Runs) -> Outcome:
    peaks = _peaks(options, runs, tuple(_BUFFERS))
    lates = [_ratio(peaks, tuple(_BUFFERS), n, "late") for n in _NUMBERS]
    known = [late for late in lates if late is not None]
    same = facts().one(figure="14", quantity="latency")
    farthest = max(known, key=lambda late: max(late, 1 / late), default=None)
    claims = (
        *(
            said(
                f"{query.panel}: non-blocking/lock-based ratio of throughput (3 % for noise)",
                "consistently better",
                "section 7.3.3",
            ).shape(_ratio(peaks, tuple(_BUFFERS), query.number, "rate"), NOISE, float("inf"), "x")
            for query in QUERIES
        ),
        asked("non-blocking/lock-based ratio of latency, the farthest from 1", same).near(
            farthest if len(known) == len(lates) else None, same.low, same.high, 0.5, "x"
        ),
    )
    mentioned = _figure_notes(options, runs, "Hybrid queue.")
    return Outcome(
        claims=claims,
        notes=mentioned,
        numbers=_numbers(peaks),
        draw=lambda: draw(
            Layout(
                title="Ordered pipelines, figure 14: reordering schemes on TPCx-BB queries",
                rows=[
                    [
                        _panel(peaks, _BUFFERS, "rate", "Peak throughput", "tuples/s"),
                        _panel(
                            peaks, _BUFFERS, "late", "Latency there", "processing latency, mean, ms"
                        ),
                    ]
                ],
                notes=mentioned,
            )
        ),
    )


FIGURE_11 = Figure(
    id="ordered:11",
    title="hybrid against partitioned queue on the TPCx-BB queries",
    shows="peak throughput and processing latency of five queries, by tuples and by blocks",
    needs=(*NEEDS, ORDERED),
    stages=(stage("queues", "every query on both kinds of queue", _tree_11),),
    outcome=_outcome_11,
)
FIGURE_14 = Figure(
    id="ordered:14",
    title="non-blocking against lock-based reordering on the TPCx-BB queries",
    shows="peak throughput and processing latency of five queries, by tuples and by blocks",
    needs=(*NEEDS, ORDERED),
    stages=(stage("reordering", "every query with both reordering buffers", _tree_14),),
    outcome=_outcome_14,
)
