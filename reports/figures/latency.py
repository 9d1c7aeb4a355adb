"""Draws the p50 and p99 latency of the cells of a workload, one row a cell."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from streamlab.reports.figures.panel import grid, new_panel
from streamlab.reports.figures.series import short_names
from streamlab.reports.figures.spots import Panel, describe_spread, with_spots
from streamlab.reports.figures.time_axis import Range, annotate_time, range_of, time_ticks
from streamlab.reports.numbers import counted_workers, duration
from streamlab.reports.palette import INK, PAPER, Colour
from streamlab.reports.summary import Cell

_ROW_IN = 0.36
_AROUND = 0.4  # rows of room above the first, for its label
_MARGIN_IN = 0.94


def shared_range(cells: Sequence[Cell]) -> Range | None:
    """Return a common range of latency in ns for all cells; None without any latency."""
    return range_of(
        value
        for cell in cells
        for quantity in (cell.latency_p50_ns, cell.latency_p99_ns)
        if quantity
        for value in quantity.values
    )


def latency_panel(
    title: str, cells: Sequence[Cell], colours: Mapping[str, Colour], limits: Range
) -> Panel:
    """Draw a panel, without cells whose engine stamps no outputs."""
    stamped = [cell for cell in cells if cell.latency_p50_ns or cell.latency_p99_ns]
    names = short_names(cells)
    labels = {c.name: f"{names[c.series]}, {counted_workers(c.workers)}" for c in stamped}
    height = _MARGIN_IN + _ROW_IN * (len(stamped) + _AROUND)
    axes = new_panel(
        title=title,
        subtitle="latency; disc: p50, bar: p99 (medians; faint: each repetition)",
        height_in=height,
        box=(0.25, 0.32, 0.25, 0.62),
    )
    axes.set_xscale("log")
    axes.set_xlim(*limits)
    axes.set_ylim(len(stamped) - 0.35, -0.35 - _AROUND)
    axes.set_yticks([])
    time_ticks(axes.xaxis)
    grid(axes, "x")
    for row, cell in enumerate(stamped):
        _draw(axes, row, cell, labels[cell.name], colours[cell.engine].light)
    return with_spots(
        axes,
        (
            (
                quantity.median,
                row,
                f"{labels[cell.name]}: {kind} {describe_spread(quantity, duration)}",
            )
            for row, cell in enumerate(stamped)
            for kind, quantity in (("p50", cell.latency_p50_ns), ("p99", cell.latency_p99_ns))
            if quantity
        ),
    )


def _draw(axes: Axes, row: int, cell: Cell, name: str, colour: str) -> None:
    axes.text(
        0.0,
        row - 0.34,
        name,
        parse_math=False,
        transform=axes.get_yaxis_transform(),
        size=7.5,
        color=INK.light,
        va="center",
        bbox={"facecolor": PAPER.light, "edgecolor": "none", "pad": 0.8},
    )
    p50, p99 = cell.latency_p50_ns, cell.latency_p99_ns
    if p50 and p99:
        axes.plot([p50.median, p99.median], [row, row], color=colour, linewidth=1.4, zorder=2)
    for quantity, marker, size in ((p50, "o", 5.5), (p99, "|", 9.0)):
        if quantity is None:
            continue
        face = PAPER.light if cell.oversubscribed else colour
        style: dict[str, Any] = {"linestyle": "none", "marker": marker, "markeredgecolor": colour}
        if quantity.n > 1:
            rows = [row] * quantity.n
            axes.plot(quantity.values, rows, markersize=size * 0.6, alpha=0.35, **style)
        axes.plot(
            [quantity.median],
            [row],
            markersize=size,
            markerfacecolor=face,
            markeredgewidth=1.8 if marker == "|" else 1.0,
            zorder=4,
            **style,
        )
    if p50:
        annotate_time(axes, (p50.median, row), p50.median, shift_pt=-6, side="right")
    if p99:
        annotate_time(axes, (p99.median, row), p99.median, shift_pt=6, side="left")
