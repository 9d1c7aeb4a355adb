"""Draws latency against load: p50 and p99 at shares of each engine's sustainable rate."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from streamlab.reports.figures.labels import label_ends, label_margin_in, place_names
from streamlab.reports.figures.latency import due, percentiles
from streamlab.reports.figures.panel import Panel, collect_spots, describe_spread, grid, new_panel
from streamlab.reports.figures.time_axis import Range, readable_ticks, time_ticks
from streamlab.reports.numbers import duration, rate
from streamlab.reports.palette import INK, PAPER, Colour
from streamlab.reports.searches import Level, Search
from streamlab.reports.verdicts import sign
from streamlab.results.query import Spread

_HEIGHT_IN = 3.3


def level_range(searches: Sequence[Search]) -> Range | None:
    """Return the range of latency in ns that all panels share; None without any latency."""
    values = [
        quantity.median
        for search in searches
        for level in search.levels
        for _, quantity in percentiles(due(level.cell))
    ]
    return (max(min(values), 1.0) / 2.5, max(values) * 2.5) if values else None


def level_panel(
    title: str, searches: Sequence[Search], colours: Mapping[str, Colour], limits: Range
) -> Panel:
    """Draw a panel; omits searches without levels."""
    drawn = [search for search in searches if any(any(due(level.cell)) for level in search.levels)]
    names = place_names(search.place for search in searches)
    margin = label_margin_in(f"{names[search.name]} p99" for search in drawn)
    axes = new_panel(
        title=title,
        subtitle="latency from due time by load; solid, disc: p99, dashed, ring: p50",
        height_in=_HEIGHT_IN,
        box=(0.62, 0.5, margin, 0.62),
    )
    axes.set_yscale("log")
    axes.set_ylim(*limits)
    time_ticks(axes.yaxis)
    grid(axes, "y")
    shares = sorted({level.share for search in drawn for level in search.levels})
    axes.set_xlim(0.0, max(1.0, *shares))
    axes.xaxis.set_major_locator(FixedLocator(readable_ticks(shares, 0.07)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share * 100:.0f}"))
    axes.set_xlabel("% of the engine's own sustainable rate", size=8, color=INK.light)
    ends = []
    for search in drawn:
        colour = colours[search.place.engine].light
        pairs = [(level, *pair) for level in search.levels for pair in percentiles(due(level.cell))]
        for kind in ("p50", "p99"):
            if points := [(level, spread) for level, name, spread in pairs if name == kind]:
                _draw_line(axes, points, kind, colour)
                ends.append((f"{names[search.name]} {kind}", (1.0, points[-1][1].median), colour))
    label_ends(axes, ends, _HEIGHT_IN - 1.12, begin=0.98)
    return collect_spots(
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
            for kind, quantity in percentiles(due(level.cell))
        ),
    )


def _draw_line(axes: Axes, points: Sequence[tuple[Level, Spread]], kind: str, colour: str) -> None:
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
