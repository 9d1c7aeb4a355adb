"""Draws the brackets of searches: from the highest rate that passed to the lowest that failed."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from streamlab.reports.figures.labels import place_names
from streamlab.reports.figures.panel import Panel, log_row_panel, row_label, with_spots
from streamlab.reports.figures.time_axis import Range, log_ticks
from streamlab.reports.numbers import count, rate
from streamlab.reports.palette import MUTED, PAPER, Colour
from streamlab.reports.searches import Search

_ROW_IN = 0.5
_MARGIN_IN = 0.98
_LABEL_AT, _AT, _CATCH_UP_AT = 0.17, 0.53, 0.83  # below the top of a row, in rows
_CEILING = (0.38, 0.94)  # from below the row's label to above the next row's
_NARROW = 1.12  # below this ratio the ends of a bracket would overlap


def bracket_range(searches: Sequence[Search]) -> Range | None:
    """Return a common range of rates for all searches; None without any rate."""
    values = [
        value
        for search in searches
        for value in (
            search.pass_eps,
            search.fail_eps,
            search.catch_up_eps.median if search.catch_up_eps else None,
            search.broker_ceiling_eps.median if search.broker_ceiling_eps else None,
        )
        if value
    ]
    if not any(search.pass_eps or search.fail_eps for search in searches):
        return None
    room = max((max(values) / min(values)) ** 0.25, 3.0)
    return (min(values) / room, max(values) * room)


def bracket_panel(
    title: str, searches: Sequence[Search], colours: Mapping[str, Colour], limits: Range
) -> Panel:
    """Draw a panel with a row for each search; a search without a rate gets a note instead."""
    names = place_names(search.place for search in searches)
    limited = any(search.broker_ceiling_eps for search in searches)
    mark = "dotted: broker's ceiling" if limited else "diamond: catch-up"
    words = f"sustained rate, events/s; bracket: pass to fail, {mark}"
    axes = log_row_panel(
        title,
        words,
        _MARGIN_IN + _ROW_IN * len(searches),
        limits,
        (len(searches), 0),
    )
    log_ticks(axes.xaxis)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: count(value).text))
    for row, search in enumerate(searches):
        _draw(axes, row, search, names[search.name], colours[search.place.engine].light, limits)
    return with_spots(
        axes,
        (
            (eps, row + at, f"{names[search.name]}: {kind} {rate(eps).exact}")
            for row, search in enumerate(searches)
            for at, kind, eps in (
                (_AT, "highest rate that passed", search.pass_eps),
                (_AT, "lowest rate that failed", search.fail_eps),
                (_CATCH_UP_AT, "catch-up", search.catch_up_eps and search.catch_up_eps.median),
                (
                    _AT,
                    "the broker without an engine",
                    search.broker_ceiling_eps and search.broker_ceiling_eps.median,
                ),
            )
            if eps
        ),
    )


def _draw(axes: Axes, row: int, search: Search, name: str, colour: str, limits: Range) -> None:
    label = name if search.pass_eps else f"{name}: no rate was found"
    for words, x, side in ((label, 0.0, "left"), (_value(search), 1.0, "right")):
        row_label(axes, row + _LABEL_AT, words, x=x, ha=side, zorder=5)
    at = row + _AT
    if search.broker_ceiling_eps:
        axes.plot(
            [search.broker_ceiling_eps.median] * 2,
            [row + end for end in _CEILING],
            color=MUTED.light,
            linestyle=":",
        )
    if search.catch_up_eps:
        axes.plot(
            [search.catch_up_eps.median],
            [row + _CATCH_UP_AT],
            marker="D",
            markersize=4.5,
            markerfacecolor=PAPER.light,
            markeredgecolor=MUTED.light,
            linestyle="none",
            zorder=3,
        )
    low, high = search.pass_eps, search.fail_eps
    if low is None:
        return
    end = high or limits[1]
    line = "-" if search.confirmed else (0, (2, 1.5))
    axes.plot(
        [low, end], [at, at], color=colour, linewidth=3, solid_capstyle="butt", linestyle=line
    )
    close = high is not None and high / low < _NARROW
    _end(axes, low, at, colour, "right" if close else "", "[")
    if high is None:
        axes.plot([end], [at], marker=">", markersize=6, color=colour, clip_on=False)
    else:
        _end(axes, high, at, colour, "left" if close else "", "]")


def _end(axes: Axes, eps: float, at: float, colour: str, side: str, glyph: str) -> None:
    """Draw an end as a bracket; `side` shifts it outwards if the ends would overlap."""
    axes.annotate(
        glyph,
        (eps, at),
        xytext=(0, 0.5),
        textcoords="offset points",
        size=11,
        weight="bold",
        color=colour,
        ha=side or "center",
        va="center",
        zorder=4,
    )


def _value(search: Search) -> str:
    if search.pass_eps is None:
        return ""
    low = rate(search.pass_eps).text
    text = f"{low} \N{EN DASH} {rate(search.fail_eps).text}" if search.fail_eps else f"from {low}"
    return text if search.confirmed else f"{text}, not confirmed"
