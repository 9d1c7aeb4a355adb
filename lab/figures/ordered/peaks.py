"""Finds and draws each TPCx-BB query's peak under two schemes, for figures 11 and 14.

The peak is the number of workers within the cores with the highest rate; latency is taken there.
The claims are about the paper's system: serials of operators, a tuple at a time. Also drawn is this
lab's own form: serials of the source, by tuples and by blocks of 64.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamlab.lab.figures.experiment import engine, plain
from streamlab.lab.figures.figure import Runs
from streamlab.lab.figures.measurements import Measured, cells, of_cell, quotient
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.ordered.queries import DESCRIPTION, QUERIES, key
from streamlab.lab.figures.ordered.shared import (
    BLOCK,
    BY_OPERATOR,
    FULL_LATENCY_NOTE,
    LATENCY,
    ORDERED,
    RATE,
    SOURCE_NOTE,
    TUPLE,
    by_source,
    notes,
    several,
    spot,
    spread_numbers,
)
from streamlab.reports.figures.paper import Line, Panel, Point
from streamlab.results.query import CellSummary, Spread

BATCHES = (TUPLE, BLOCK)
_GRANULARITY = {TUPLE: "a tuple at a time", BLOCK: f"blocks of {BLOCK}"}
_SHIFT = 0.13
"""Distance between series at one query, as share of the distance between queries."""
PAPERS_FORM = (f"/b{TUPLE}/",)
"""Part of the ids of the judged cells, and of this lab's own by tuples."""
NUMBERS = tuple(query.number for query in QUERIES)


@dataclass(frozen=True, slots=True)
class Peak:
    """A query's best cell.

    Attributes:
        rate: throughput in tuples/s.
        late: processing latency in ms.
        is_open: whether it has more workers than cores.
    """

    rate: Spread
    late: Spread | None
    is_open: bool


Peaks = Mapping[tuple[str, int, int], Peak | None]
"""Peaks by label of an engine table, granularity and query."""


def _drawn(schemes: Iterable[str]) -> list[tuple[str, int]]:
    """Return the label and granularity of each drawn series, the paper's form first."""
    names = tuple(schemes)
    return [
        *((scheme, TUPLE) for scheme in names),
        *((by_source(scheme), batch) for batch in BATCHES for scheme in names),
    ]


def peaks_of(options: Options, runs: Runs, schemes: Sequence[str]) -> Peaks:
    """Return every query's peak under every scheme, in both forms."""

    def best(scheme: str, batch: int, workload: str) -> Peak | None:
        candidates: list[tuple[bool, float, CellSummary, Spread]] = []
        for cell in cells(runs[0], workload, ORDERED):
            rate = RATE(cell) if f"/b{batch}/{scheme}" in cell.cell else None
            if rate is not None:
                candidates.append((cell.workers <= options.cores, rate.median, cell, rate))
        if not candidates:
            return None
        within, _, cell, rate = max(candidates, key=lambda each: each[:2])
        return Peak(rate, LATENCY(cell), not within)

    return {
        (scheme, batch, query.number): best(scheme, batch, key(query, batch))
        for scheme, batch in _drawn(schemes)
        for query in QUERIES
    }


def ratio(peaks: Peaks, schemes: Sequence[str], number: int, quantity: str) -> Measured | None:
    """Return the ratio of the first scheme's peak to the second's, in the paper's form.

    None if either has no peak within the cores.
    """
    pair = []
    for scheme in schemes:
        peak = peaks[scheme, TUPLE, number]
        if peak is None or peak.is_open:
            return None
        pair.append(of_cell(peak.rate if quantity == "rate" else peak.late))
    return quotient(*pair)


def panel(peaks: Peaks, names: Mapping[str, str], quantity: str, title: str, y_label: str) -> Panel:
    """Return the panel of all queries' peaks; `quantity` is `rate` or `late`."""
    series = _drawn(names)
    titles = [
        *(f"{name}, the paper's" for name in names.values()),
        *(f"{name}, own, {_GRANULARITY[batch]}" for batch in BATCHES for name in names.values()),
    ]
    lines = []
    for place, ((scheme, batch), title_of) in enumerate(zip(series, titles, strict=True)):
        spots: list[Point] = []
        for x, number in enumerate(NUMBERS):
            peak = peaks[scheme, batch, number]
            spread = None if peak is None else peak.rate if quantity == "rate" else peak.late
            at = x + (place - (len(series) - 1) / 2) * _SHIFT
            spots += spot(at, spread, is_open=peak is not None and peak.is_open)
        lines.append(
            Line(
                name=title_of,
                points=spots,
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
        ticks=range(len(NUMBERS)),
        tick_names=[str(number) for number in NUMBERS],
        write=None if quantity == "rate" else plain,
    )


def peak_numbers(peaks: Peaks) -> dict[str, Any]:
    """Return peaks as JSON values."""
    return {
        f"query {number}, {scheme}, batch {batch}": spread_numbers(
            {"throughput_eps": peak.rate, "latency_ms": peak.late}
        )
        for (scheme, batch, number), peak in peaks.items()
        if peak is not None
    }


def peak_notes(options: Options, runs: Runs, *more: str) -> tuple[str, ...]:
    """Return notes on differences from the paper's experiment."""
    return notes(
        options,
        runs,
        several(options),
        f"Queries of TPCx-BB: {DESCRIPTION} Peak of {', '.join(map(str, several(options)))} "
        "workers, scheduler CT.",
        SOURCE_NOTE,
        *more,
        FULL_LATENCY_NOTE,
        "The paper's text has no absolute numbers of this figure to overlay.",
    )


def tables(
    options: Options, workers: int, label: str, chosen: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return an `[[engine]]` table for each form and granularity, limited to its input.

    Args:
        options: the figure's options.
        workers: number of workers.
        label: label of the scheme.
        chosen: engine options of the scheme.
    """
    return [
        engine(
            ORDERED,
            options,
            workers=[workers],
            batch=[batch],
            workloads=[f"*@b{batch}"],
            options=chosen if is_source else {**chosen, **BY_OPERATOR},
            label=by_source(label) if is_source else label,
        )
        for is_source, batch in ((False, TUPLE), *((True, batch) for batch in BATCHES))
    ]
