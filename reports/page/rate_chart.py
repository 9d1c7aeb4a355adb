"""Arranges the rates of a workload for a dot chart: one line per engine, grouped by comparable conditions.

The page draws the chart as a table, so that blind readers get the same numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streamlab.reports.numbers import Quantity, count, counted_workers, rate
from streamlab.reports.summary import Cell
from streamlab.reports.table import HeadlineRow, classes_of
from streamlab.results.query import Spread, group_by

_MAX_STEPS = 2
"""Maximum number of intervals between ticks."""
_ROOM = 0.1
"""Free part of the scale above the highest rate, in decades."""
_LEAST_WIDTH = 0.4
"""Minimum width of a range in per cent of the chart's width, so that the range stays visible."""
_LABEL_WIDTH = 6.0
"""Width of a number in a label, in per cent of the chart's width, which is 100 pixels on a phone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A cell of a line.

    Attributes:
        label: the number of workers. The first of several close dots has the numbers of all of them, and
            the labels of the others are empty.
        place, low, width: median, lowest rate and range of the repetitions, in per cent of the chart's
            width.
        text: text of the dot for pointers and blind readers.
        hollow: whether the cell has more workers than cores.
    """

    label: str
    place: float
    low: float
    width: float
    text: str
    hollow: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartLine:
    """A variant of an engine with one unit of hand-over (number of events that are handed over at once).

    Attributes:
        best: the row with the highest rate, or without any rate the first row.
        rated: the rows with a rate.
        failed: the rows without a rate, as pairs of a status and its rows.
    """

    best: HeadlineRow
    dots: tuple[Dot, ...]
    rated: tuple[HeadlineRow, ...]
    failed: tuple[tuple[str, tuple[HeadlineRow, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartClass:
    """Comparable lines, fastest first; `words` describe the conditions of their rates."""

    words: str
    lines: tuple[ChartLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateScale:
    """A logarithmic scale that starts at a power of ten; all charts of a page have the same scale."""

    low: int
    high: float

    def place(self, eps: float) -> float:
        """Return the place of a rate, in per cent of the width."""
        return round(100 * (math.log10(eps) - self.low) / (self.high - self.low), 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The places and texts of two or more powers of ten, at equal distances."""
        last = math.floor(self.high)
        step = math.ceil((last - self.low) / _MAX_STEPS)
        return [
            (self.place(10.0**power), count(10.0**power).text)
            for power in range(self.low, last + 1, step)
        ]


def rate_scale(cells: Sequence[Cell]) -> RateScale | None:
    """Return a common scale for all rates; None without any rate."""
    values = [v for c in cells if c.throughput_eps for v in c.throughput_eps.values if v > 0]
    if not values:
        return None
    low = math.floor(math.log10(min(values)))
    return RateScale(low=low, high=max(math.log10(max(values)) + _ROOM, low + 1))


def rate_chart(members: Sequence[Cell], scale: RateScale) -> list[ChartClass]:
    """Return the classes of one workload and input; lines without a rate show their status and come last."""
    classes = []
    for words, rows in classes_of(members):
        lines = group_by(rows, lambda row: row.cell.series).values()
        drawn = [_make_line(line, scale) for line in lines]
        drawn.sort(key=lambda line: -_median(line.best))
        classes.append(ChartClass(words=words or "conditions not declared", lines=tuple(drawn)))
    return classes


def _make_line(rows: Sequence[HeadlineRow], scale: RateScale) -> ChartLine:
    rated = tuple(row for row in rows if row.throughput)
    failed = group_by((row for row in rows if not row.throughput), lambda row: row.status)
    return ChartLine(
        best=max(rows, key=_median),
        dots=_make_dots([row.cell for row in rated], scale),
        rated=rated,
        failed=tuple((status, tuple(part)) for status, part in failed.items()),
    )


def _make_dots(cells: Sequence[Cell], scale: RateScale) -> tuple[Dot, ...]:
    """Return a dot for each cell; the first of several close dots has the labels of all of them."""
    rated = [(cell, eps) for cell in cells if (eps := cell.throughput_eps) and eps.low > 0]
    labels: dict[str, list[int]] = {}
    first, free_from = "", 0.0
    for cell, eps in sorted(rated, key=lambda pair: pair[1].median):
        place = scale.place(eps.median)
        if place >= free_from:
            first, free_from = cell.name, place
        labels.setdefault(first, []).append(cell.workers)
        free_from += _LABEL_WIDTH
    if len(rated) == 1:  # the name of the line already has the number of workers
        labels = {}
    return tuple(
        _make_dot(cell, eps, scale, sorted(labels.get(cell.name, ()))) for cell, eps in rated
    )


def _make_dot(cell: Cell, eps: Spread, scale: RateScale, label: Sequence[int]) -> Dot:
    low = scale.place(eps.low)
    spread = f", {_format_range(rate(eps.low), rate(eps.high))}, n = {eps.n}" if eps.n > 1 else ""
    return Dot(
        label=",".join(map(str, label)),
        place=scale.place(eps.median),
        low=low,
        width=round(max(scale.place(eps.high) - low, _LEAST_WIDTH), 2),
        text=f"{counted_workers(cell.workers)}: {rate(eps.median).text}{spread}",
        hollow=cell.oversubscribed,
    )


def _format_range(low: Quantity, high: Quantity) -> str:
    return f"{low.text} to {high.text}"


def _median(row: HeadlineRow) -> float:
    return row.cell.throughput_eps.median if row.cell.throughput_eps else 0.0
