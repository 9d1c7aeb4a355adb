"""Draws predicted rates: dashed and hollow, and what was measured beside them solid."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from reports.figures.panel import grid, new_panel
from reports.numbers import count
from reports.palette import INK, MUTED, PAPER, slot

_HEIGHT_IN = 3.9
_MOST_TICKS = 10
DASHES = (0, (4, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Predicted rates: number of cores or machines, events a second; and its label."""

    label: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """Measured rates of several processes at one number of cores."""

    at: float
    rates_eps: tuple[float, ...]


def projection_panel(
    *,
    title: str,
    unit: str,
    predicted: Curve,
    measured: Sequence[Dot],
    worst_error: float,
) -> Axes:
    """Draw predictions and, where they are of the same kind, measurements.

    Args:
        title: says that it is predicted.
        unit: what the horizontal axis counts.
        predicted: dashed, with hollow marks.
        measured: solid.
        worst_error: of the predictions where there are measurements; NaN: there are none.
    """
    error = "" if worst_error != worst_error else f" (worst error of validation {worst_error:.0%})"
    solid = "; solid: measured" if measured else ""
    axes = new_panel(
        title=title,
        subtitle=f"events/s by {unit}; dashed: predicted{solid}",
        height_in=_HEIGHT_IN,
        box=(0.62, 0.5, 0.25, 1.0),
    )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    places = sorted({x for x, _ in predicted.points} | {dot.at for dot in measured})
    ticks = places if len(places) <= _MOST_TICKS else places[:: -(-len(places) // _MOST_TICKS)]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    axes.set_xlabel(unit, size=8, color=INK.light)
    axes.set_xlim(places[0] / 1.25, places[-1] * 1.25)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: count(value).text))
    grid(axes, "y")
    colour = slot(0).light
    axes.plot(
        *zip(*predicted.points, strict=True),
        color=colour,
        linewidth=1.4,
        linestyle=DASHES,
        marker="o",
        markersize=4.5,
        markerfacecolor=PAPER.light,
        markeredgecolor=colour,
        label=predicted.label + error,
    )
    if measured:
        axes.plot(
            [dot.at for dot in measured for _ in dot.rates_eps],
            [rate for dot in measured for rate in dot.rates_eps],
            linestyle="none",
            marker="o",
            markersize=4,
            color=slot(1).light,
            label="measured here",
        )
    axes.legend(
        frameon=False,
        fontsize=8,
        labelcolor=MUTED.light,
        loc="lower left",
        bbox_to_anchor=(0, 1),  # above the axes: rates may be anywhere within
        handlelength=4,  # dashes on both sides of the mark
        borderaxespad=0,
    )
    return axes
