"""What figures 11 and 14 share: two schemes on the TPCx-BB queries, each query at its peak.

The peak is the best number of workers within the cores; latency is taken there. The claims are
about a tuple at a time, as in the paper; blocks of 64 are drawn beside them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.figures.experiment import engine, plain
from lab.figures.figure import Runs
from lab.figures.measured import Measured, cells, of_cell, quotient
from lab.figures.options import Options
from lab.figures.ordered.queries import DESCRIPTION, QUERIES, key
from lab.figures.ordered.shared import (
    BLOCK,
    FULL_LATENCY_NOTE,
    LATENCY,
    ORDERED,
    RATE,
    TUPLE,
    notes,
    several,
    spot,
    spread_numbers,
)
from reports.figures.paper import Line, Panel, Point
from results.query import CellSummary, Spread

BATCHES = (TUPLE, BLOCK)
_GRANULARITY = {TUPLE: "a tuple at a time", BLOCK: f"blocks of {BLOCK}"}
_SHIFT = 0.16
"""Between series at one query, of the distance between queries."""
NUMBERS = tuple(query.number for query in QUERIES)


@dataclass(frozen=True, slots=True)
class Peak:
    """A query's best cell: its throughput (tuples/s) and latency (ms); open: beyond the cores."""

    rate: Spread
    late: Spread | None
    is_open: bool


Peaks = Mapping[tuple[str, int, int], Peak | None]
"""By scheme, granularity and query."""


def peaks_of(options: Options, runs: Runs, schemes: Sequence[str]) -> Peaks:
    """Return every query's peak under every scheme; schemes are labels of engine tables."""

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


def ratio(peaks: Peaks, schemes: Sequence[str], number: int, quantity: str) -> Measured | None:
    """Return the first scheme's peak by the second's, a tuple at a time, within the cores."""
    pair = []
    for scheme in schemes:
        peak = peaks[scheme, TUPLE, number]
        if peak is None or peak.is_open:
            return None
        pair.append(of_cell(peak.rate if quantity == "rate" else peak.late))
    return quotient(*pair)


def panel(peaks: Peaks, names: Mapping[str, str], quantity: str, title: str, y_label: str) -> Panel:
    """Return the peaks of all queries side by side: `rate` or `late`."""
    series = [(scheme, batch) for batch in BATCHES for scheme in names]
    lines = []
    for place, (scheme, batch) in enumerate(series):
        found: list[Point] = []
        for x, number in enumerate(NUMBERS):
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
    """Return what sets the experiment apart from the paper's."""
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


def tables(
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
