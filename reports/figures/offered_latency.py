"""Draws the latency of cells under an offered load: from due time, and service latency."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from streamlab.reports.figures.panel import grid, new_panel
from streamlab.reports.figures.series import short_names
from streamlab.reports.figures.spots import Mark, Panel, describe_spread, with_spots
from streamlab.reports.figures.time_axis import Range, annotate_time, range_of, time_ticks
from streamlab.reports.numbers import counted_workers, duration
from streamlab.reports.palette import INK, MUTED, PAPER, Colour
from streamlab.reports.summary import Cell
from streamlab.reports.verdicts import with_mark
from streamlab.results.query import Spread

_ROW_IN = 0.6
_MARGIN_IN = 0.98
_DUE, _SERVICE = 0.45, 0.73  # below the top of a row, in rows


def offered_range(cells: Sequence[Cell]) -> Range | None:
    """Return a common range of latency in ns for all cells; None without any latency."""
    return range_of(
        value
        for cell in cells
        for quantity in (*_due(cell), *_service(cell))
        if quantity
        for value in quantity.values
    )


def has_latency(cell: Cell) -> bool:
    """Return whether a cell has any latency to draw."""
    return any(quantity is not None for quantity in (*_due(cell), *_service(cell)))


def offered_latency_panel(
    title: str, cells: Sequence[Cell], colours: Mapping[str, Colour], limits: Range
) -> Panel:
    """Draw a panel with a row for each cell that has a latency."""
    shown = [cell for cell in cells if has_latency(cell)]
    names = short_names(cells)
    axes = new_panel(
        title=title,
        subtitle="coloured: from the due time; grey, square: service. Disc: p50, bar: p99",
        height_in=_MARGIN_IN + _ROW_IN * len(shown),
        box=(0.25, 0.32, 0.25, 0.62),
    )
    axes.set_xscale("log")
    axes.set_xlim(*limits)
    axes.set_ylim(len(shown), 0)
    axes.set_yticks([])
    time_ticks(axes.xaxis)
    grid(axes, "x")
    marks: list[Mark] = []
    for row, cell in enumerate(shown):
        load = cell.load.label if cell.load else ""
        name = with_mark(
            f"{names[cell.series]}, {counted_workers(cell.workers)}, {load}", cell.status
        )
        axes.text(
            0.0,
            row + 0.13,
            name,
            parse_math=False,
            transform=axes.get_yaxis_transform(),
            size=7.5,
            color=INK.light,
            va="center",
            bbox={"facecolor": PAPER.light, "edgecolor": "none", "pad": 0.8},
        )
        colour = colours[cell.engine].light
        hollow = cell.oversubscribed
        _pair(axes, row + _DUE, _due(cell), colour, "o", hollow=hollow)
        _pair(axes, row + _SERVICE, _service(cell), MUTED.light, "s", hollow=hollow)
        marks += [
            (spread.median, row + at, f"{name}: {kind} {which} {describe_spread(spread, duration)}")
            for at, kind, pair in (
                (_DUE, "latency from due time", _due(cell)),
                (_SERVICE, "service latency", _service(cell)),
            )
            for which, spread in zip(("p50", "p99"), pair, strict=True)
            if spread
        ]
    return with_spots(axes, marks)


def _pair(
    axes: Axes,
    at: float,
    pair: tuple[Spread | None, Spread | None],
    colour: str,
    shape: str,
    *,
    hollow: bool,
) -> None:
    p50, p99 = pair
    if p50 and p99:
        axes.plot([p50.median, p99.median], [at, at], color=colour, linewidth=1.4, zorder=2)
    for quantity, marker, size in ((p50, shape, 5.0), (p99, "|", 8.0)):
        if quantity is None:
            continue
        style: dict[str, Any] = {"linestyle": "none", "marker": marker, "markeredgecolor": colour}
        axes.plot(
            [quantity.median],
            [at],
            markersize=size,
            markerfacecolor=PAPER.light if hollow else colour,
            markeredgewidth=1.8 if marker == "|" else 1.0,
            zorder=4,
            **style,
        )
    if p50:
        annotate_time(axes, (p50.median, at), p50.median, shift_pt=-6, side="right")
    if p99:
        annotate_time(axes, (p99.median, at), p99.median, shift_pt=6, side="left")


def _due(cell: Cell) -> tuple[Spread | None, Spread | None]:
    return (cell.latency_p50_ns, cell.latency_p99_ns)


def _service(cell: Cell) -> tuple[Spread | None, Spread | None]:
    load = cell.load
    return (None, None) if load is None else (load.service_p50_ns, load.service_p99_ns)
