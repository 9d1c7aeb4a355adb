"""Draws throughput against parallelism for a workload: repetitions as dots, medians as lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from streamlab.reports.figures.labels import (
    LABEL_GAP_IN,
    Series,
    label_ends,
    label_margin_in,
    short_names,
)
from streamlab.reports.figures.panel import (
    Mark,
    Panel,
    collect_spots,
    describe_spread,
    grid,
    new_panel,
)
from streamlab.reports.numbers import count, counted_workers, rate
from streamlab.reports.palette import INK, PAPER, Colour
from streamlab.reports.summary import Cell

_LOG_FROM_RATIO = 20.0  # from here, the slower lines of a linear plot would lie on the axis

_DASHES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The vertical scale that all panels of a report share, so that panels are comparable."""

    log: bool
    low: float
    high: float


def shared_scale(cells: Sequence[Cell]) -> Scale | None:
    """Return a scale that fits all repetitions of all cells; None without any number."""
    values = [v for c in cells if c.throughput_eps for v in c.throughput_eps.values if v > 0]
    if not values:
        return None
    low, high = min(values), max(values)
    if high / low >= _LOG_FROM_RATIO:
        return Scale(log=True, low=low / 2, high=high * 2)
    return Scale(log=False, low=0.0, high=high * 1.12)


def throughput_panel(
    title: str, cells: Sequence[Cell], colours: Mapping[str, Colour], scale: Scale
) -> Panel:
    """Draw a panel; omits cells without a number, which only the report's tables show."""
    rated = [cell for cell in cells if cell.throughput_eps is not None]
    all_names = short_names(cells)
    names = {cell.series: all_names[cell.series] for cell in rated}
    height = max(3.3, 1.2 + LABEL_GAP_IN * len(names))
    axes = new_panel(
        title=title,
        subtitle="events/s by number of workers; dots: repetitions, lines: medians",
        height_in=height,
        box=(0.56, 0.5, label_margin_in(names.values()), 0.62),
    )
    _set_scales(axes, rated, scale)
    ends = [
        (name, _draw_series(axes, rated, series, colours, names), colours[series[0]].light)
        for series, name in names.items()
    ]
    label_ends(axes, ends, height - 1.12)
    return collect_spots(axes, (mark for cell in rated for mark in _marks(cell, names)))


def _marks(cell: Cell, names: Mapping[Series, str]) -> list[Mark]:
    spread = cell.throughput_eps
    if spread is None:
        return []
    name = f"{names[cell.series]}, {counted_workers(cell.workers)}"
    marks = [(float(cell.workers), spread.median, f"{name}: {describe_spread(spread, rate)}")]
    if spread.n > 1:
        marks += [
            (float(cell.workers), value, f"{name}, repetition {index}: {rate(value).exact}")
            for index, value in enumerate(spread.values, 1)
        ]
    return marks


def _set_scales(axes: Axes, cells: Sequence[Cell], scale: Scale) -> None:
    workers = sorted({cell.workers for cell in cells})
    axes.set_xscale("log", base=2)
    axes.set_xlim(workers[0] / 1.25, workers[-1] * 1.25)
    axes.xaxis.set_major_locator(FixedLocator([float(w) for w in workers]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    axes.set_xlabel("workers", size=8, color=INK.light)
    if scale.log:
        axes.set_yscale("log")
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.set_ylim(scale.low, scale.high)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: count(value).text))
    grid(axes, "y")


def _draw_series(
    axes: Axes,
    cells: Sequence[Cell],
    series: Series,
    colours: Mapping[str, Colour],
    names: Mapping[Series, str],
) -> tuple[float, float]:
    """Draw a series, and return its last point, where its label is connected."""
    members = sorted((c for c in cells if c.series == series), key=lambda c: c.workers)
    colour = colours[series[0]].light
    same_engine = sorted(
        (s for s in names if s[0] == series[0]), key=lambda s: -_highest_rate(cells, s)
    )
    dashes = _DASHES[same_engine.index(series) % len(_DASHES)]
    points = [(c.workers, c.throughput_eps.median) for c in members if c.throughput_eps]
    axes.plot(
        [x for x, _ in points],
        [y for _, y in points],
        color=colour,
        linewidth=1.6,
        linestyle=dashes,
        marker="_",
        markersize=9,
        markeredgewidth=1.6,
        zorder=3,
    )
    for cell in members:
        values = cell.throughput_eps.values if cell.throughput_eps else ()
        axes.plot(
            [cell.workers] * len(values),
            values,
            linestyle="none",
            marker="o",
            markersize=4.5,
            markerfacecolor=PAPER.light if cell.oversubscribed else colour,
            markeredgecolor=colour if cell.oversubscribed else PAPER.light,
            markeredgewidth=1.0 if cell.oversubscribed else 0.5,
            zorder=4,
        )
    return points[-1]


def _highest_rate(cells: Sequence[Cell], series: Series) -> float:
    return max(c.throughput_eps.median for c in cells if c.series == series and c.throughput_eps)
