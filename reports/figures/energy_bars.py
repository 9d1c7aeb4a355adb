"""Draws measured joules per 1,000 events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from streamlab.reports.figures.panel import Panel, collect_spots, grid, new_panel, row_label
from streamlab.reports.numbers import joules
from streamlab.reports.palette import MUTED, PAPER, Colour

_ROW_IN = 0.46
_MARGIN_IN = 0.98


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bar of J per 1,000 events; `net_j` is the part above idle, if known."""

    name: str
    engine: str
    gross_j: float
    net_j: float | None = None


def energy_panel(title: str, bars: Sequence[Bar], colours: Mapping[str, Colour]) -> Panel:
    """Draw a panel with one or more bars on an axis that starts at zero."""
    axes = new_panel(
        title=title,
        subtitle="J per 1,000 events; whole bar: gross, solid part: net of idle",
        height_in=_MARGIN_IN + _ROW_IN * len(bars),
        box=(0.25, 0.32, 0.8, 0.62),
    )
    axes.set_xlim(0, max(bar.gross_j for bar in bars) * 1.02 or 1.0)
    axes.set_ylim(len(bars), 0)
    axes.set_yticks([])
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    grid(axes, "x")
    for row, bar in enumerate(bars):
        colour = colours[bar.engine].light
        row_label(axes, row + 0.24, bar.name, zorder=5)
        _draw_bar(axes, row + 0.64, bar, colour)
    return collect_spots(
        axes, ((bar.gross_j, row + 0.64, _describe_bar(bar)) for row, bar in enumerate(bars))
    )


def _describe_bar(bar: Bar) -> str:
    net = f", net {joules(bar.net_j).exact}" if bar.net_j is not None else ""
    return f"{bar.name}: gross {joules(bar.gross_j).exact} per 1,000 events{net}"


def _draw_bar(axes: Axes, y: float, bar: Bar, colour: str) -> None:
    axes.barh(
        y,
        bar.gross_j,
        height=0.34,
        facecolor=PAPER.light,
        edgecolor=colour,
        linewidth=1.0,
        zorder=3,
    )
    if bar.net_j is not None:
        axes.barh(y, max(bar.net_j, 0.0), height=0.34, facecolor=colour, zorder=4)
    axes.annotate(
        joules(bar.gross_j).text,
        (bar.gross_j, y),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        size=7.5,
        color=MUTED.light,
        annotation_clip=False,
    )
