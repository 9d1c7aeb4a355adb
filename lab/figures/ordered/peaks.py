"""Reproduces figures 11 and 14 of the ordered pipelines: queues and buffers on the TPCx-BB queries.

Both figures show each query's peak under two schemes (kinds of queue or of buffer). The peak is the worker
count with the highest rate, at most the number of cores. Latency is measured at the peak.
The claims are about the paper's system: operators assign serials, one tuple at a time. The figures also
draw this lab's own form: the source assigns serials, to tuples or to blocks of 64.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from streamlab.json_value import JsonObject
from streamlab.lab.figures.experiment import (
    engine,
    outcome,
    plain,
    run_table,
    spot,
    spread_numbers,
    stage,
)
from streamlab.lab.figures.figure import Figure, Outcome, Runs, Tree
from streamlab.lab.figures.judge import MeasuredClaim
from streamlab.lab.figures.measurements import Measured, all_of, cells, of_cell, quotient
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.ordered.paper_setup import (
    BLOCK,
    BY_OPERATOR,
    DESCRIPTION,
    FULL_LATENCY_NOTE,
    LATENCY,
    ORDERED,
    PAPER,
    QUERIES,
    RATE,
    REORDERING_BUFFERS,
    SOURCE_NOTE,
    TUPLE,
    WORKLOADS,
    drawn_forms,
    form_name,
    in_order,
    key,
    notes,
    several,
    shares,
    workload_tables,
)
from streamlab.lab.figures.preconditions import Need, trials
from streamlab.reports.figures.paper import Line, Panel, Point
from streamlab.results.query import CellSummary, Spread
from streamlab.results.stats.estimates import Estimate, Monotone, highest

_QUEUES = {"hybrid": "hybrid queue", "partitioned": "partitioned queue"}
BATCHES = (TUPLE, BLOCK)
_SHIFT = 0.13
"""Distance between series at one query, as a share of the distance between queries."""
NUMBERS = tuple(query.number for query in QUERIES)


@dataclass(frozen=True, slots=True)
class Peak:
    """A query's best cell.

    Attributes:
        rate: throughput in tuples/s.
        latency: processing latency in ms.
        is_open: whether the cell has more workers than cores.
    """

    rate: Spread
    latency: Spread | None
    is_open: bool


Peaks = Mapping[tuple[str, int, int], Peak | None]
"""Peaks by label of an engine table, granularity and query."""


def _peaks(options: Options, runs: Runs, schemes: Sequence[str]) -> Peaks:
    """Return every query's peak under every scheme, in both forms."""

    def best(label: str, batch: int, workload: str) -> Peak | None:
        candidates: list[tuple[bool, float, CellSummary, Spread]] = []
        for cell in cells(runs[0], workload, ORDERED):
            rate = RATE(cell) if f"/b{batch}/{label}" in cell.cell else None
            if rate is not None:
                candidates.append((cell.workers <= options.cores, rate.median, cell, rate))
        if not candidates:
            return None
        is_within, _, cell, rate = max(candidates, key=lambda candidate: candidate[:2])
        return Peak(rate, LATENCY(cell), not is_within)

    return {
        (label, batch, query.number): best(label, batch, key(query, batch))
        for label, _, batch in drawn_forms(schemes, BATCHES)
        for query in QUERIES
    }


def _ratio(peaks: Peaks, schemes: Sequence[str], number: int, quantity: str) -> Measured | None:
    """Return the ratio of the first scheme's peak to the second's, in the paper's form.

    None if either has no peak within the cores.
    """
    pair = []
    for scheme in schemes:
        peak = peaks[scheme, TUPLE, number]
        if peak is None or peak.is_open:
            return None
        pair.append(of_cell(peak.rate if quantity == "rate" else peak.latency))
    return quotient(*pair)


def _panel(
    peaks: Peaks, names: Mapping[str, str], quantity: str, title: str, y_label: str
) -> Panel:
    """Return the panel of all queries' peaks; `quantity` is `rate` or `latency`."""
    series = drawn_forms(names, BATCHES)
    lines = []
    for index, (label, scheme, batch) in enumerate(series):
        spots: list[Point] = []
        for x, number in enumerate(NUMBERS):
            peak = peaks[label, batch, number]
            spread = None if peak is None else peak.rate if quantity == "rate" else peak.latency
            x_shifted = x + (index - (len(series) - 1) / 2) * _SHIFT
            spots += spot(x_shifted, spread, is_open=peak is not None and peak.is_open)
        name = form_name(names[scheme], is_paper=label == scheme, batch=batch)
        lines.append(Line(name=name, points=spots, colour=index, style="marks"))
    return Panel(
        title=title,
        y_label=y_label,
        x_label="query",
        lines=lines,
        log_y=True,
        tick_names=[str(number) for number in NUMBERS],
        write=None if quantity == "rate" else plain,
    )


def _tree(options: Options, schemes: Sequence[tuple[int, str, JsonObject]]) -> Tree:
    """Return the matrix: every query with every scheme, in both forms and granularities."""
    return {
        "run": run_table(options, timeout_s=600),
        "workload": workload_tables(options, BATCHES),
        "engine": [
            engine(
                ORDERED,
                options,
                workers=[workers],
                batch=[batch],
                workloads=[f"*@b{batch}"],
                options={**scheme_options, **BY_OPERATOR} if label == scheme else scheme_options,
                label=label,
            )
            for workers, scheme, scheme_options in schemes
            for label, _, batch in drawn_forms([scheme], BATCHES)
        ],
    }


def _outcome(
    options: Options,
    runs: Runs,
    peaks: Peaks,
    names: Mapping[str, str],
    claims: Sequence[MeasuredClaim],
    title: str,
    note: str,
) -> Outcome:
    return outcome(
        claims,
        notes(
            options,
            runs,
            several(options),
            f"Queries of TPCx-BB: {DESCRIPTION} Peak of {', '.join(map(str, several(options)))} "
            "workers, scheduler CT.",
            SOURCE_NOTE,
            note,
            FULL_LATENCY_NOTE,
            "The paper's text has no absolute numbers of this figure to overlay.",
        ),
        {
            f"query {number}, {scheme}, batch {batch}": spread_numbers(
                {"throughput_eps": peak.rate, "latency_ms": peak.latency}
            )
            for (scheme, batch, number), peak in peaks.items()
            if peak is not None
        },
        title,
        [
            [
                _panel(peaks, names, "rate", "Peak throughput", "tuples/s"),
                _panel(peaks, names, "latency", "Latency there", "processing latency, mean, ms"),
            ]
        ],
    )


def _needs(options: Options, runs: Runs) -> tuple[Need, ...]:
    return in_order(options, trials(runs[0], f"/b{TUPLE}/", workers=options.within))


def _queues_tree(options: Options) -> Tree:
    return _tree(
        options,
        [
            (n, worklist, {"worklist": worklist, "partitions": partitions})
            for n in several(options)
            for worklist, partitions in (("hybrid", shares()), ("partitioned", n))
        ],
    )


def _queues(options: Options, runs: Runs) -> Outcome:
    peaks = _peaks(options, runs, tuple(_QUEUES))
    needs = _needs(options, runs)
    rates = {n: _ratio(peaks, tuple(_QUEUES), n, "rate") for n in NUMBERS}
    latencies = [_ratio(peaks, tuple(_QUEUES), n, "latency") for n in NUMBERS]
    double, single = ([rates[q.number] for q in QUERIES if q.partitioned == n] for n in (2, 1))

    def relative_gain(parts: Sequence[Estimate]) -> Estimate:
        """Return the mean gain with two partitioned operators, divided by the mean gain with one."""
        count = len(double)
        return Monotone(
            lambda values: fmean(values[:count]) / fmean(values[count:]),
            tuple(parts[:count]),
            tuple(parts[count:]),
        )

    claims = [
        PAPER.pose("11", "throughput", rates[query.number], *needs, panel=query.panel)
        for query in QUERIES
        if query.number != 15  # the paper calls its difference unclear
    ]
    measured = {
        "gain": all_of([*double, *single], relative_gain),
        "latency": all_of(latencies, _count_below_one),
    }
    claims += PAPER.pose_all("11", measured, *needs)
    return _outcome(
        options,
        runs,
        peaks,
        _QUEUES,
        claims,
        "Ordered pipelines, figure 11: partitioning schemes on TPCx-BB queries",
        "Partitions: 100 with the hybrid queue, as many as workers with the partitioned queue.",
    )


def _count_below_one(ratios: Sequence[Estimate]) -> Estimate:
    """Return the number of ratios below 1."""
    return Monotone(lambda values: sum(value < 1 for value in values), (), tuple(ratios))


def _buffers_tree(options: Options) -> Tree:
    return _tree(
        options,
        [
            (n, reordering, {"reordering": reordering, "worklist": "hybrid"})
            for n in several(options)
            for reordering in REORDERING_BUFFERS
        ],
    )


def _buffers(options: Options, runs: Runs) -> Outcome:
    peaks = _peaks(options, runs, tuple(REORDERING_BUFFERS))
    needs = _needs(options, runs)
    latencies = [
        _ratio(peaks, pair, n, "latency")
        for pair in (tuple(REORDERING_BUFFERS), tuple(reversed(REORDERING_BUFFERS)))
        for n in NUMBERS
    ]
    claims = [
        PAPER.pose(
            "14",
            "throughput",
            _ratio(peaks, tuple(REORDERING_BUFFERS), query.number, "rate"),
            *needs,
            panel=query.panel,
        )
        for query in QUERIES
    ]
    claims.append(PAPER.pose("14", "latency", all_of(latencies, highest), *needs))
    return _outcome(
        options,
        runs,
        peaks,
        REORDERING_BUFFERS,
        claims,
        "Ordered pipelines, figure 14: reordering schemes on TPCx-BB queries",
        "Hybrid queue.",
    )


QUEUES = Figure(
    id="ordered:11",
    title="hybrid against partitioned queue on the TPCx-BB queries",
    shows="peak throughput and processing latency of five queries, the paper's form and this lab's",
    needs=(*WORKLOADS, ORDERED),
    stages=(stage("queues", "every query on both kinds of queue", _queues_tree),),
    outcome=_queues,
)
BUFFERS = Figure(
    id="ordered:14",
    title="non-blocking against lock-based reordering on the TPCx-BB queries",
    shows="peak throughput and processing latency of five queries, the paper's form and this lab's",
    needs=(*WORKLOADS, ORDERED),
    stages=(stage("reordering", "every query with both reordering buffers", _buffers_tree),),
    outcome=_buffers,
)
