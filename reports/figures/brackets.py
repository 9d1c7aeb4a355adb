"""Draws the brackets of searches: from the highest rate that passed to the lowest that failed."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from streamlab.reports.figures.labels import place_names
from streamlab.reports.figures.panel import Panel, collect_spots, log_row_panel, row_label
from streamlab.reports.figures.time_axis import Range, log_ticks
from streamlab.reports.numbers import count, rate
from streamlab.reports.palette import MUTED, PAPER, Colour
from streamlab.reports.searches import Search

_ROW_IN = 0.5
_MARGIN_IN = 0.98
_LABEL_ROW, _BRACKET_ROW, _CATCH_UP_ROW = 0.17, 0.53, 0.83  # below the top of a row, in rows
_CEILING_ROWS = (0.38, 0.94)  # from below the label of a row to above the label of the next row
_NARROW_RATIO = 1.12  # below this ratio the ends of a bracket would overlap


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
    has_ceiling = any(search.broker_ceiling_eps for search in searches)
    mark = "dotted: broker's ceiling" if has_ceiling else "diamond: catch-up"
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
        _draw_search(
            axes, row, search, names[search.name], colours[search.place.engine].light, limits
        )
    return collect_spots(
        axes,
        (
            (eps, row + offset, f"{names[search.name]}: {kind} {rate(eps).exact}")
            for row, search in enumerate(searches)
            for offset, kind, eps in (
                (_BRACKET_ROW, "highest rate that passed", search.pass_eps),
                (_BRACKET_ROW, "lowest rate that failed", search.fail_eps),
                (_CATCH_UP_ROW, "catch-up", search.catch_up_eps and search.catch_up_eps.median),
                (
                    _BRACKET_ROW,
                    "the broker without an engine",
                    search.broker_ceiling_eps and search.broker_ceiling_eps.median,
                ),
            )
            if eps
        ),
    )


def _draw_search(
    axes: Axes, row: int, search: Search, name: str, colour: str, limits: Range
) -> None:
    label = name if search.pass_eps else f"{name}: no rate was found"
    for words, x, side in ((label, 0.0, "left"), (_format_bracket(search), 1.0, "right")):
        row_label(axes, row + _LABEL_ROW, words, x=x, ha=side, zorder=5)
    y = row + _BRACKET_ROW
    if search.broker_ceiling_eps:
        axes.plot(
            [search.broker_ceiling_eps.median] * 2,
            [row + end for end in _CEILING_ROWS],
            color=MUTED.light,
            linestyle=":",
        )
    if search.catch_up_eps:
        axes.plot(
            [search.catch_up_eps.median],
            [row + _CATCH_UP_ROW],
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
    axes.plot([low, end], [y, y], color=colour, linewidth=3, solid_capstyle="butt", linestyle=line)
    is_narrow = high is not None and high / low < _NARROW_RATIO
    _draw_end(axes, low, y, colour, "right" if is_narrow else "", "[")
    if high is None:
        axes.plot([end], [y], marker=">", markersize=6, color=colour, clip_on=False)
    else:
        _draw_end(axes, high, y, colour, "left" if is_narrow else "", "]")


def _draw_end(axes: Axes, eps: float, y: float, colour: str, side: str, glyph: str) -> None:
    """Draw an end as a bracket glyph; `side` shifts the glyph outwards if the ends would overlap."""
    axes.annotate(
        glyph,
        (eps, y),
        xytext=(0, 0.5),
        textcoords="offset points",
        size=11,
        weight="bold",
        color=colour,
        ha=side or "center",
        va="center",
        zorder=4,
    )


def _format_bracket(search: Search) -> str:
    if search.pass_eps is None:
        return ""
    low = rate(search.pass_eps).text
    text = f"{low} \N{EN DASH} {rate(search.fail_eps).text}" if search.fail_eps else f"from {low}"
    return text if search.confirmed else f"{text}, not confirmed"
