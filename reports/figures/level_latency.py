"""Draws latency against load: p50 and p99 at shares of each engine's sustainable rate."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from streamlab.reports.figures.labels import spread as place
from streamlab.reports.figures.panel import grid, new_panel
from streamlab.reports.figures.series import place_names
from streamlab.reports.figures.spots import Panel, describe_spread, with_spots
from streamlab.reports.figures.time_axis import Range, time_ticks
from streamlab.reports.numbers import duration, rate
from streamlab.reports.palette import INK, PAPER, Colour
from streamlab.reports.search_text import Level, Search
from streamlab.reports.verdicts import sign
from streamlab.results.query import Spread

_LABEL_GAP_IN = 0.155
_HEIGHT_IN = 3.3


def level_range(searches: Sequence[Search]) -> Range | None:
    """Return a common range of latency in ns for all levels; None without any."""
    values = [
        quantity.median
        for search in searches
        for level in search.levels
        for quantity in (level.cell.latency_p50_ns, level.cell.latency_p99_ns)
        if quantity
    ]
    return (max(min(values), 1.0) / 2.5, max(values) * 2.5) if values else None


def level_panel(
    title: str, searches: Sequence[Search], colours: Mapping[str, Colour], limits: Range
) -> Panel:
    """Draw a panel, without searches that have no levels."""
    drawn = [search for search in searches if any(_p50(x) or _p99(x) for x in search.levels)]
    names = place_names(search.place for search in searches)
    axes = new_panel(
        title=title,
        subtitle="latency from due time by load; solid, disc: p99, dashed, ring: p50",
        height_in=_HEIGHT_IN,
        box=(0.62, 0.5, 1.3, 0.62),
    )
    axes.set_yscale("log")
    axes.set_ylim(*limits)
    time_ticks(axes.yaxis)
    grid(axes, "y")
    shares = sorted({level.share for search in drawn for level in search.levels})
    axes.set_xlim(0.0, max(1.0, *shares))
    axes.xaxis.set_major_locator(FixedLocator(_apart(shares)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share * 100:.0f}"))
    axes.set_xlabel("% of the engine's own sustainable rate", size=8, color=INK.light)
    ends: list[tuple[str, float, str]] = []
    for search in drawn:
        colour = colours[search.place.engine].light
        for which, kind in ((_p50, "p50"), (_p99, "p99")):
            end = _line(axes, search, which, kind, colour)
            if end is not None:
                ends.append((f"{names[search.name]} {kind}", end, colour))
    _label(axes, ends)
    return with_spots(
        axes,
        (
            (
                level.share,
                quantity.median,
                f"{names[search.name]} at {level.share:.0%}, {rate(level.rate_eps).exact}: "
                f"{kind} {describe_spread(quantity, duration)}",
            )
            for search in drawn
            for level in search.levels
            for kind, quantity in (("p50", _p50(level)), ("p99", _p99(level)))
            if quantity
        ),
    )


def _apart(shares: Sequence[float]) -> list[float]:
    """Remove ticks whose labels would touch: 90 and 95 % do not fit."""
    ticks: list[float] = []
    for share in shares:
        if not ticks or share - ticks[-1] > 0.07:
            ticks.append(share)
    return ticks


def _p50(level: Level) -> Spread | None:
    return level.cell.latency_p50_ns


def _p99(level: Level) -> Spread | None:
    return level.cell.latency_p99_ns


def _line(axes: Axes, search: Search, which: object, kind: str, colour: str) -> float | None:
    """Draw a line and return its last value, for the label; None without a point."""
    assert callable(which)
    points = [(x, which(x)) for x in search.levels if which(x) is not None]
    if not points:
        return None
    axes.plot(
        [level.share for level, _ in points],
        [quantity.median for _, quantity in points],
        color=colour,
        linewidth=1.5,
        linestyle="-" if kind == "p99" else (0, (4, 2)),
        zorder=3,
    )
    for level, quantity in points:
        mark = sign(level.cell.status)
        if mark:
            axes.text(
                level.share,
                quantity.median,
                mark,
                size=10,
                weight="bold",
                color=colour,
                ha="center",
                va="center",
                zorder=5,
            )
            continue
        axes.plot(
            [level.share],
            [quantity.median],
            marker="o",
            markersize=5,
            color=colour,
            markerfacecolor=PAPER.light if kind == "p50" else colour,
            zorder=4,
        )
    return float(points[-1][1].median)


def _label(axes: Axes, ends: Sequence[tuple[str, float, str]]) -> None:
    to_axes = axes.transData + axes.transAxes.inverted()
    at = [float(to_axes.transform((1.0, ns))[1]) for _, ns, _ in ends]
    heights = place(at, gap=_LABEL_GAP_IN / (_HEIGHT_IN - 1.12), low=0.01, high=1.0)
    for (name, _, colour), y, height in zip(ends, at, heights, strict=True):
        axes.plot(
            [0.98, 1.0, 1.04],
            [y, y, height],
            transform=axes.transAxes,
            clip_on=False,
            color=colour,
            linewidth=0.6,
            linestyle=":",
            zorder=1,
        )
        axes.text(
            1.055,
            height,
            name,
            parse_math=False,
            transform=axes.transAxes,
            size=8,
            color=colour,
            va="center",
        )
