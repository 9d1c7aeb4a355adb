"""Draws panels in the layout of a paper: lines with spreads, bands, steps, and published marks.

Measured lines are solid and coloured. To avoid confusion, published numbers are hollow or hatched, mostly
grey, and have a separate legend.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.textpath import TextPath
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from streamlab.reports.figures.panel import grid
from streamlab.reports.figures.time_axis import log_ticks, readable_ticks
from streamlab.reports.numbers import count
from streamlab.reports.palette import INK, MUTED, PAPER, slot

PANEL_WIDTH_IN, PANEL_HEIGHT_IN = 3.1, 1.85
_TOP_IN, _GAP_IN = 0.54, 0.62
_BOX_IN = 0.2
"""Additional width for a box plot at the right."""
_TITLE_IN = 0.17
"""Additional height between rows, for axis labels above and panel titles below."""
_HEADING_CHARACTERS_PER_IN = 10.5
"""Assumed width of the figure's title; a figure is at least as wide as its title."""
_SUBTITLE_SIZE, _POINTS_PER_IN = 8.0, 72
_LEGEND_TITLE_IN, _LEGEND_LINE_IN = 0.2, 0.16
_NOTE_CHARACTERS_PER_IN, _NOTE_LINE_IN = 16.5, 0.124
_MARK_SIZE = 7.0
_WORDS_TOP, _WORDS_SIZE, _WORDS_SPACING = 0.97, 6.8, 1.3


@dataclass(frozen=True, slots=True)
class Point:
    """A median with the smallest and largest repetition; `open` if there are more instances than cores."""

    x: float
    mid: float
    low: float
    high: float
    open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A measured line; `colour` is a slot of the palette.

    Attributes:
        points: points by x.
        style: `line` with marks, `steps` that hold until the next point, `plain` line without marks,
            only `marks`, or `band`, only the region from low to high.
        band: whether low to high is drawn as a shaded region instead of a spread at each point.
    """

    name: str
    points: Sequence[Point]
    colour: int = 0
    style: str = "line"
    band: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A published number or range: at x, or across the whole panel if x is None.

    `colour` is the palette slot of its series; None: grey.
    """

    name: str
    low: float
    high: float
    x: float | None = None
    colour: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shade:
    """A shaded range of the horizontal axis, for example a transition."""

    name: str
    begin: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A pair of axes.

    Attributes:
        words: texts on published numbers that have no place on the axes, such as quotients of two lines.
        ticks: ticks of the horizontal axis; None: automatic, or 0, 1, ... with `tick_names`.
        tick_names: labels of the ticks, for categories; None: the numbers.
        span: values that the vertical axis must include, so that panels are comparable.
        x_span: values that the horizontal axis must include; only for panels without `ticks`.
        boxed: values of a box plot at the right: median, quartiles, 5th and 95th percentile.
        empty: text of a panel without lines.
        whole: whether vertical ticks are only at whole numbers, for small counts.
        write: formats vertical values; None: short counts.
    """

    title: str
    y_label: str
    x_label: str = ""
    lines: Sequence[Line] = ()
    marks: Sequence[Mark] = ()
    shades: Sequence[Shade] = ()
    words: Sequence[str] = ()
    log_y: bool = False
    ticks: Sequence[float] | None = None
    tick_names: Sequence[str] | None = None
    span: Sequence[float] = ()
    x_span: Sequence[float] = ()
    boxed: Sequence[float] = ()
    empty: str = "no verified number"
    whole: bool = False
    write: Callable[[float], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Rows of panels; rows may have different lengths.

    Attributes:
        width_in, height_in: size of a panel's axes in inches.
    """

    title: str
    rows: Sequence[Sequence[Panel]]
    notes: Sequence[str] = ()
    width_in: float = PANEL_WIDTH_IN
    height_in: float = PANEL_HEIGHT_IN


def draw(layout: Layout) -> Figure:
    """Draw the panels, a legend of measured lines and a legend of published numbers.

    A line has a gap where a point is not a number.
    """
    columns = max(len(row) for row in layout.rows)
    margin_in = 0.25 + _BOX_IN * any(panel.boxed for row in layout.rows for panel in row)
    width = max(
        columns * (layout.width_in + _GAP_IN) + margin_in,
        0.24 + len(layout.title) / _HEADING_CHARACTERS_PER_IN,
    )
    notes = [fill(note, int(width * _NOTE_CHARACTERS_PER_IN)) for note in layout.notes]
    note_in = _NOTE_LINE_IN * sum(note.count("\n") + 1 for note in notes) + 0.1
    cell_in = layout.height_in + _GAP_IN
    below_in = note_in + _legend_height_in(layout, width) + 0.1
    titled = [bool(number) and any(panel.title for panel in row)
              for number, row in enumerate(layout.rows)]  # fmt: skip
    height = _TOP_IN + len(layout.rows) * cell_in + sum(titled) * _TITLE_IN + below_in + 0.1
    figure = Figure(figsize=(width, height), facecolor=PAPER.light)
    figure.text(
        0.12 / width, 1 - 0.1 / height, layout.title, size=10.5, weight="bold", color=INK.light,
        va="top", parse_math=False,
    )  # fmt: skip
    for number, row in enumerate(layout.rows):
        for column, panel in enumerate(row):
            left = 0.25 + _GAP_IN * 0.8 + column * (layout.width_in + _GAP_IN)
            above_in = number * cell_in + sum(titled[: number + 1]) * _TITLE_IN
            top = height - _TOP_IN - above_in - 0.28
            axes = figure.add_axes(
                (
                    left / width,
                    (top - layout.height_in) / height,
                    layout.width_in / width,
                    layout.height_in / height,
                ),
                facecolor="none",
            )
            compared = row if panel.span else [panel]
            _draw_panel(axes, panel, max(len(other.words) for other in compared))
    figure.text(
        0.12 / width, 0.06 / height, "\n".join(notes), size=7, color=MUTED.light, va="bottom",
        parse_math=False, linespacing=1.25,
    )  # fmt: skip
    _draw_legends(figure, layout, note_in + 0.1)
    return figure


def vertical_values(panel: Panel) -> list[float]:
    """Return the values that the vertical axis of a panel must include."""
    values = [y for line in panel.lines for point in line.points for y in (point.low, point.high)]
    values += [y for mark in panel.marks for y in (mark.low, mark.high)]
    return [value for value in [*values, *panel.span] if math.isfinite(value)]


def watermark(figure: Figure, text: str) -> None:
    """Write a text across the whole drawing, behind the lines."""
    width, height = figure.get_size_inches()
    figure.text(
        0.5, 0.5, text, size=min(0.9 * width / len(text), height / 2) * _POINTS_PER_IN,
        color=MUTED.light, alpha=0.14, weight="bold", ha="center", va="center", zorder=-1,
    )  # fmt: skip


def subtitle(figure: Figure, text: str) -> None:
    """Write a line of text below the title, for example the verdict; long texts have smaller letters."""
    width, height = figure.get_size_inches()
    wide_in = TextPath((0, 0), text, size=_SUBTITLE_SIZE).get_extents().width / _POINTS_PER_IN
    share = (width - 0.4) / max(wide_in, 0.01)  # at small sizes, hinting widens letters
    figure.text(
        0.12 / width, 1 - 0.3 / height, text, size=_SUBTITLE_SIZE * min(1.0, share),
        color=INK.light, va="top", parse_math=False,
    )  # fmt: skip


def _draw_panel(axes: Axes, panel: Panel, word_lines: int) -> None:
    """Draw a panel with room for `word_lines` lines of words."""
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(MUTED.light)
    axes.tick_params(colors=MUTED.light, labelsize=7.5, length=3, width=0.8)
    axes.tick_params(axis="y", length=0)
    axes.set_axisbelow(True)
    axes.set_title(panel.title, size=8.5, color=INK.light, loc="left", pad=14, weight="bold")
    axes.text(0, 1.03, panel.y_label, transform=axes.transAxes, size=7.5, color=MUTED.light)
    axes.set_xlabel(panel.x_label, size=7.5, color=MUTED.light, labelpad=2)
    shown = [line for line in panel.lines if line.points]
    for shade in panel.shades:
        axes.axvspan(shade.begin, shade.end, color=MUTED.light, alpha=0.12, linewidth=0)
    for line in shown:
        _draw_line(axes, line)
    if not shown:
        axes.text(
            0.5, 0.5, panel.empty, transform=axes.transAxes, size=8, color=MUTED.light,
            ha="center", va="center", wrap=True,
        )  # fmt: skip
    _set_scales(axes, panel, shown, _words_share(axes, word_lines))
    for mark in panel.marks:
        _draw_mark(axes, mark)
    if panel.boxed:
        _draw_box(axes, panel.boxed)
    if panel.words:
        axes.text(
            0.985, _WORDS_TOP, "\n".join(panel.words), transform=axes.transAxes,
            size=_WORDS_SIZE, color=MUTED.light, ha="right", va="top", style="italic",
            linespacing=_WORDS_SPACING, zorder=6,
            bbox={"facecolor": PAPER.light, "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
        )  # fmt: skip


def _set_scales(axes: Axes, panel: Panel, shown: Sequence[Line], words_share: float) -> None:
    values = vertical_values(panel)
    positive = [v for v in values if v > 0]
    if panel.log_y and positive:
        axes.set_yscale("log")
        low, high = min(positive) / 1.6, max(positive) * (1.4 if words_share else 2.2)
        axes.set_ylim(low, low * (high / low) ** (1 / (1 - words_share)))
        log_ticks(axes.yaxis)
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        high = max(values, default=1.0) * (1.1 if words_share else 1.22) or 1.0
        axes.set_ylim(0, high / (1 - words_share))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=panel.whole))
    write = panel.write or (lambda value: count(value).text)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: write(value) if value else "0"))
    if ticks := panel.ticks or range(len(panel.tick_names or ())):
        low, high = min(ticks), max(ticks)
        room = max((high - low) * 0.12, 0.3)
        axes.set_xlim(low - room, high + room)
        labelled = ticks if panel.tick_names else readable_ticks(ticks, (high - low) * 0.08)
        axes.xaxis.set_major_locator(FixedLocator([float(tick) for tick in labelled]))
    else:
        axes.margins(x=0.06 if all(line.style == "marks" for line in shown) else 0.02)
        if panel.x_span:
            axes.update_datalim([(x, 0.0) for x in panel.x_span], updatey=False)
            axes.autoscale_view(scaley=False)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
    if panel.tick_names:
        axes.xaxis.set_major_formatter(FixedFormatter(list(panel.tick_names)))
    else:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    grid(axes, "y")


def _words_share(axes: Axes, lines: int) -> float:
    """Return the share of a panel's height that `lines` lines of words take at the top."""
    if not lines:
        return 0.0
    height_in = axes.bbox.height / axes.figure.dpi
    lines_in = lines * _WORDS_SIZE * _WORDS_SPACING / 72
    return min(0.6, 1 - _WORDS_TOP + lines_in / height_in)


def _draw_line(axes: Axes, line: Line) -> None:
    colour = slot(line.colour).light
    x = [point.x for point in line.points]
    mid = [point.mid for point in line.points]
    low, high = [p.low for p in line.points], [p.high for p in line.points]
    drawstyle = "steps-post" if line.style == "steps" else "default"
    if line.band:
        step: Literal["post"] | None = "post" if line.style == "steps" else None
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0, step=step)
    if line.style not in ("marks", "band"):
        width = 1.5 if line.style == "line" else 1.1
        axes.plot(x, mid, color=colour, linewidth=width, drawstyle=drawstyle, zorder=3)
        isolated = _find_isolated(line.points)
        axes.plot(
            [p.x for p in isolated], [p.mid for p in isolated], marker="o", markersize=width,
            linestyle="none", color=colour, zorder=3,
        )  # fmt: skip
    if line.style in ("line", "marks"):
        if not line.band:
            axes.vlines(x, low, high, color=colour, linewidth=1.0, zorder=3)
        for point in line.points:
            axes.plot(
                [point.x], [point.mid], marker="o", markersize=4.6, zorder=4, linestyle="none",
                markerfacecolor=PAPER.light if point.open else colour, markeredgecolor=colour,
            )  # fmt: skip


def _find_isolated(points: Sequence[Point]) -> list[Point]:
    """Return the points without a neighbour, which a drawn line would not show."""
    has_value = [False, *(math.isfinite(point.mid) for point in points), False]
    return [
        point
        for i, point in enumerate(points, start=1)
        if has_value[i] and not has_value[i - 1] and not has_value[i + 1]
    ]


def _draw_box(axes: Axes, values: Sequence[float]) -> None:
    """Draw a box plot in the margin to the right of the axes."""
    low, high = axes.get_xlim()
    width = 0.03 * (high - low)
    names = ("whislo", "q1", "med", "q3", "whishi")
    box = dict(zip(names, np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95)), strict=True))
    line = {"color": INK.light, "linewidth": 0.9}
    artists = axes.bxp(
        [box], positions=[high + width], widths=[width], showfliers=False, manage_ticks=False,
        boxprops=line, medianprops=line, whiskerprops=line, capprops=line,
    )  # fmt: skip
    for artist in (artist for part in artists.values() for artist in part):
        artist.set_clip_on(False)
    axes.set_xlim(low, high)


def _draw_mark(axes: Axes, mark: Mark) -> None:
    ink = _mark_colour(mark)
    if mark.x is not None:
        low, high = mark.low, mark.high
        axes.plot([mark.x, mark.x], [low, high], color=ink, linewidth=1.0, zorder=5)
        # Papers publish the ends of a range, but no point in between.
        axes.plot(
            [mark.x, mark.x], [low, high], marker="D" if low == high else "_", linestyle="none",
            markersize=_MARK_SIZE, markerfacecolor="none", markeredgecolor=ink,
            markeredgewidth=1.2, zorder=5,
        )  # fmt: skip
    elif mark.low == mark.high or not math.isfinite(mark.high) or mark.low == 0:
        y = mark.low if not math.isfinite(mark.high) else mark.high
        axes.axhline(y, color=ink, linewidth=1.1, linestyle=(0, (4, 2)), zorder=2)
    else:
        axes.axhspan(
            mark.low, mark.high, facecolor="none", edgecolor=ink, hatch="////", alpha=0.35,
            linewidth=0, zorder=1,
        )  # fmt: skip


def _legend_handles(layout: Layout) -> tuple[list[Line2D | Patch], list[Line2D | Patch]]:
    """Return the entries of both legends: measured and published."""
    panels = [panel for row in layout.rows for panel in row]
    lines = {line.name: line for panel in panels for line in panel.lines if line.points}
    marks = {mark.name: mark for panel in panels for mark in panel.marks}
    shades = {shade.name: shade for panel in panels for shade in panel.shades}
    measured: list[Line2D | Patch] = [_line_handle(line) for line in lines.values()]
    measured += [Patch(color=MUTED.light, alpha=0.12, label=name) for name in shades]
    if any(point.open for line in lines.values() for point in line.points):
        measured.append(
            Line2D(
                [], [], marker="o", linestyle="none", markersize=4.6, label="beyond the cores",
                markerfacecolor=PAPER.light, markeredgecolor=MUTED.light,
            )
        )  # fmt: skip
    return measured, [_published_handle(mark) for mark in marks.values()]


def _legend_columns(entries: Sequence[Line2D | Patch], width_in: float) -> int:
    """Return the number of legend columns that fit into the width."""
    widest = max((len(str(entry.get_label())) for entry in entries), default=1)
    return max(1, min(len(entries), int(width_in / (0.5 + 0.062 * widest))))


def _legend_height_in(layout: Layout, width_in: float) -> float:
    """Return the height of both legends in inches."""
    return sum(
        _LEGEND_TITLE_IN + _LEGEND_LINE_IN * math.ceil(len(part) / _legend_columns(part, width_in))
        for part in _legend_handles(layout)
        if part
    )


def _draw_legends(figure: Figure, layout: Layout, bottom_in: float) -> None:
    width, height = figure.get_size_inches()
    measured, published = _legend_handles(layout)
    y_in = bottom_in
    for entries, title in ((published, "published"), (measured, "measured here")):
        if not entries:
            continue
        columns = _legend_columns(entries, width)
        legend = figure.legend(
            handles=entries, title=title, loc="lower left",
            bbox_to_anchor=(0.05 / width, y_in / height), ncols=columns, fontsize=7,
            frameon=False, title_fontsize=7, alignment="left", borderpad=0.2, labelspacing=0.3,
        )  # fmt: skip
        legend.get_title().set_color(MUTED.light)
        y_in += _LEGEND_TITLE_IN + _LEGEND_LINE_IN * math.ceil(len(entries) / columns)


def _line_handle(line: Line) -> Line2D | Patch:
    colour = slot(line.colour).light
    if line.style == "band":
        return Patch(color=colour, alpha=0.3, label=line.name)
    marker = "o" if line.style in ("line", "marks") else None
    return Line2D(
        [], [], color=colour, marker=marker, markersize=4.6, label=line.name,
        linestyle="none" if line.style == "marks" else "-",
    )  # fmt: skip


def _mark_colour(mark: Mark) -> str:
    return MUTED.light if mark.colour is None else slot(mark.colour).light


def _published_handle(mark: Mark) -> Line2D | Patch:
    ink = _mark_colour(mark)
    if mark.x is not None:
        return Line2D(
            [], [], marker="D" if mark.low == mark.high else "|", markersize=_MARK_SIZE - 1,
            linestyle="none", label=mark.name, markerfacecolor="none", markeredgecolor=ink,
        )  # fmt: skip
    if mark.low == mark.high or not math.isfinite(mark.high) or mark.low == 0:
        return Line2D([], [], color=ink, linestyle=(0, (4, 2)), label=mark.name)
    return Patch(facecolor="none", edgecolor=ink, hatch="////", alpha=0.5, label=mark.name)
