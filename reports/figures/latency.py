"""Draws the p50 and p99 latency of cells, one row per cell: at full speed, and under an offered load."""

from collections.abc import Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes

from streamlab.reports.figures.labels import short_names
from streamlab.reports.figures.panel import (
    Mark,
    Panel,
    collect_spots,
    describe_spread,
    log_row_panel,
    row_label,
)
from streamlab.reports.figures.time_axis import Range, annotate_latency, range_of, time_ticks
from streamlab.reports.numbers import counted_workers, duration
from streamlab.reports.palette import MUTED, PAPER, Colour
from streamlab.reports.summary import Cell
from streamlab.reports.verdicts import append_mark
from streamlab.results.query import Spread

_ROW_IN = 0.36
_ROOM_ROWS = 0.4  # room above the first row, for its label
_MARGIN_IN = 0.94
_OFFERED_ROW_IN = 0.6
_OFFERED_MARGIN_IN = 0.98
_DUE_ROW, _SERVICE_ROW = 0.45, 0.73  # below the top of a row, in rows

Pair = tuple[Spread | None, Spread | None]
"""The median and the 99th percentile."""


def due(cell: Cell) -> Pair:
    """Return p50 and p99 of a cell's latency; under a load, latency counts from the due time."""
    return (cell.latency_p50_ns, cell.latency_p99_ns)


def service(cell: Cell) -> Pair:
    """Return p50 and p99 of a cell's service latency; None without a load."""
    load = cell.load
    return (None, None) if load is None else (load.service_p50_ns, load.service_p99_ns)


def percentiles(pair: Pair) -> list[tuple[str, Spread]]:
    """Return the percentiles of a pair that have a value, each with its name."""
    return [(name, spread) for name, spread in zip(("p50", "p99"), pair, strict=True) if spread]


def has_latency(cell: Cell) -> bool:
    """Return whether a cell has any latency to draw."""
    return any((*due(cell), *service(cell)))


def shared_range(cells: Sequence[Cell]) -> Range | None:
    """Return the range of latency in ns that all panels share; None without any latency."""
    return range_of(
        value
        for cell in cells
        for pair in (due(cell), service(cell))
        for _, quantity in percentiles(pair)
        for value in quantity.values
    )


def latency_panel(
    title: str, cells: Sequence[Cell], colours: Mapping[str, Colour], limits: Range
) -> Panel:
    """Draw a panel; omits cells whose engine stamps no outputs."""
    stamped = [cell for cell in cells if has_latency(cell)]
    names = short_names(cells)
    labels = {c.name: f"{names[c.series]}, {counted_workers(c.workers)}" for c in stamped}
    axes = log_row_panel(
        title,
        "latency; disc: p50, bar: p99 (medians; faint: each repetition)",
        _MARGIN_IN + _ROW_IN * (len(stamped) + _ROOM_ROWS),
        limits,
        (len(stamped) - 0.35, -0.35 - _ROOM_ROWS),
    )
    time_ticks(axes.xaxis)
    for row, cell in enumerate(stamped):
        row_label(axes, row - 0.34, labels[cell.name])
        colour, hollow = colours[cell.engine].light, cell.oversubscribed
        _draw_pair(axes, row, due(cell), colour, "o", (5.5, 9.0), hollow=hollow, faint=True)
    return collect_spots(
        axes,
        (
            (
                quantity.median,
                row,
                f"{labels[cell.name]}: {kind} {describe_spread(quantity, duration)}",
            )
            for row, cell in enumerate(stamped)
            for kind, quantity in percentiles(due(cell))
        ),
    )


def offered_latency_panel(
    title: str, cells: Sequence[Cell], colours: Mapping[str, Colour], limits: Range
) -> Panel:
    """Draw a panel with a row per cell under a load: latency from due time, and service latency."""
    shown = [cell for cell in cells if has_latency(cell)]
    names = short_names(cells)
    axes = log_row_panel(
        title,
        "coloured: from the due time; grey, square: service. Disc: p50, bar: p99",
        _OFFERED_MARGIN_IN + _OFFERED_ROW_IN * len(shown),
        limits,
        (len(shown), 0),
    )
    time_ticks(axes.xaxis)
    marks: list[Mark] = []
    for row, cell in enumerate(shown):
        load = cell.load.label if cell.load else ""
        name = append_mark(
            f"{names[cell.series]}, {counted_workers(cell.workers)}, {load}", cell.status
        )
        row_label(axes, row + 0.13, name)
        colour = colours[cell.engine].light
        for offset, kind, pair, ink, shape in (
            (_DUE_ROW, "latency from due time", due(cell), colour, "o"),
            (_SERVICE_ROW, "service latency", service(cell), MUTED.light, "s"),
        ):
            _draw_pair(axes, row + offset, pair, ink, shape, (5.0, 8.0), hollow=cell.oversubscribed)
            marks += [
                (
                    s.median,
                    row + offset,
                    f"{name}: {kind} {percentile} {describe_spread(s, duration)}",
                )
                for percentile, s in percentiles(pair)
            ]
    return collect_spots(axes, marks)


def _draw_pair(
    axes: Axes,
    y: float,
    pair: Pair,
    colour: str,
    shape: str,
    sizes: tuple[float, float],
    *,
    hollow: bool,
    faint: bool = False,
) -> None:
    """Draw p50 and p99 in a row; with `faint`, also each repetition in faint marks."""
    p50, p99 = pair
    if p50 and p99:
        axes.plot([p50.median, p99.median], [y, y], color=colour, linewidth=1.4, zorder=2)
    for quantity, marker, size in zip(pair, (shape, "|"), sizes, strict=True):
        if quantity is None:
            continue
        plot = partial(axes.plot, linestyle="none", marker=marker, markeredgecolor=colour)
        if faint and quantity.n > 1:
            rows = [y] * quantity.n
            plot(quantity.values, rows, markersize=size * 0.6, alpha=0.35)
        plot(
            [quantity.median],
            [y],
            markersize=size,
            markerfacecolor=PAPER.light if hollow else colour,
            markeredgewidth=1.8 if marker == "|" else 1.0,
            zorder=4,
        )
    if p50:
        annotate_latency(axes, (p50.median, y), p50.median, shift_pt=-6, side="right")
    if p99:
        annotate_latency(axes, (p99.median, y), p99.median, shift_pt=6, side="left")
