"""Draws ratios with their intervals: one panel per metric, one row per cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from streamlab.reports.figures.panel import Panel, collect_spots, grid, new_panel, row_label, save
from streamlab.reports.numbers import LEAST_RATIO, UNCLEAR
from streamlab.reports.palette import MUTED, PAPER, Colour
from streamlab.reports.side_by_side import write_times
from streamlab.results import compare
from streamlab.results.compare import Ratio

BETTER = Colour(light="#00805d", dark="#3ac79b")
WORSE = Colour(light="#c05200", dark="#f08a3c")

_ROW_IN = 0.24
_BAR_ROW = 0.68  # below the top of a row, in rows
_LEFT_IN, _RIGHT_IN, _BOTTOM_IN, _TOP_IN = 0.15, 0.15, 0.42, 0.62


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The ratio of a cell.

    Attributes:
        ratio: new over old.
        low, high: ends of the ratio's interval; None without an interval.
        tone: 1 better, -1 worse, 0 neither.
        label: text next to the mark, for example `+9.8 %`; UNCLEAR marks a ratio that shows no difference.
    """

    name: str
    ratio: float
    low: float | None
    high: float | None
    tone: int
    label: str

    @classmethod
    def of(cls, ratio: Ratio) -> "Bar":
        """Return the bar of a ratio."""
        return cls(
            name=ratio.cell,
            ratio=ratio.ratio,
            low=ratio.low,
            high=ratio.high,
            tone={compare.BETTER: 1, compare.WORSE: -1}.get(ratio.word, 0),
            label=_format_label(ratio),
        )


def draw_ratios(
    bars: Sequence[Bar], *, title: str, subtitle: str, mark: str | None, stem: Path
) -> str:
    """Write `ratio_panel` as `<stem>.svg` and `<stem>.png`, and return the SVG text."""
    return save(ratio_panel(bars, title=title, subtitle=subtitle, mark=mark).axes, stem)


def ratio_panel(
    bars: Sequence[Bar], *, title: str, subtitle: str, mark: str | None = None
) -> Panel:
    """Draw one or more ratios on a logarithmic axis around 1; `mark` is a warning at the top right."""
    height = _TOP_IN + _BOTTOM_IN + 2 * _ROW_IN * len(bars)
    box = (_LEFT_IN, _BOTTOM_IN, _RIGHT_IN, _TOP_IN)
    axes = new_panel(title=title, subtitle=subtitle, height_in=height, box=box)
    ends = [end for bar in bars for end in (bar.ratio, bar.low, bar.high) if end is not None]
    reach = max(1.05, *(max(end, 1 / end) for end in ends)) ** 1.15
    axes.set_xscale("log")
    axes.set_xlim(1 / reach, reach)
    axes.set_ylim(len(bars), 0)
    axes.set_yticks([])
    _set_ticks(axes, reach)
    grid(axes, "x")
    axes.axvline(1, color=MUTED.light, linewidth=1)
    for index, bar in enumerate(bars):
        _draw_bar(axes, bar, index)
    if mark is not None:
        figure = axes.figure
        assert isinstance(figure, Figure)
        figure.text(
            0.98,
            1 - 0.10 / height,
            mark,
            ha="right",
            va="top",
            size=8,
            weight="bold",
            color=WORSE.light,
        )
    return collect_spots(
        axes, ((bar.ratio, index + _BAR_ROW, _describe_bar(bar)) for index, bar in enumerate(bars))
    )


def _format_label(ratio: Ratio) -> str:
    mark = "" if ratio.is_clear else f"{UNCLEAR} "
    if ratio.ratio < LEAST_RATIO:
        return mark + write_times(ratio.metric, ratio.ratio)
    return mark + f"{ratio.ratio - 1:+.1%}".replace("%", " %")


def _describe_bar(bar: Bar) -> str:
    interval = "" if bar.low is None else f", 95 % interval {bar.low:.4g} to {bar.high:.4g}"
    return f"{bar.name}: {bar.ratio:.4g} times{interval}"


def _draw_bar(axes: Axes, bar: Bar, index: int) -> None:
    colour = {1: BETTER, -1: WORSE, 0: MUTED}[bar.tone].light
    y = index + _BAR_ROW
    if bar.low is not None and bar.high is not None:
        axes.plot([bar.low, bar.high], [y, y], color=colour, linewidth=2.2, solid_capstyle="butt")
    axes.plot([bar.ratio], [y], marker="o", markersize=5, color=colour)
    box = {"facecolor": PAPER.light, "edgecolor": "none", "pad": 1.2}
    row_label(axes, index + 0.28, bar.name, ha="left", weight="normal", bbox=box)
    row_label(
        axes, index + 0.28, bar.label, x=1.0, ha="right", weight="bold", color=colour, bbox=box
    )


def _set_ticks(axes: Axes, reach: float) -> None:
    steps = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 100.0)
    outer = [step for step in steps if step <= reach][-1:]
    # A second pair of ticks, about half-way out, if there is room.
    inner = [step for step in steps if outer and step <= outer[0] ** 0.6][-1:]
    places = [1.0, *(place for step in inner + outer for place in (1 / step, step))]
    axes.set_xticks(places, [f"{place:.3g} \N{MULTIPLICATION SIGN}" for place in places])
    axes.set_xticks([], minor=True)
