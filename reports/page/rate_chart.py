"""Arranges the rates of a workload for a chart of dots, one line an engine, by what may be compared.

The page draws it as a table, so that readers without sight get the same numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streamlab.reports.numbers import Quantity, count, counted_workers, rate
from streamlab.reports.summary import Cell
from streamlab.reports.table import HeadlineRow, classes_of
from streamlab.results.query import group_by

_MOST_STEPS = 2
_ROOM = 0.1
_LEAST_WIDTH = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A cell of a line: its median, and the range of its repetitions as per cent of the width."""

    at: float
    low: float
    width: float
    text: str
    hollow: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartLine:
    """An engine with one unit of hand-over; `best` is the number of workers with the highest rate."""

    best: HeadlineRow
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartClass:
    """Lines that may be compared, fastest first; `words` say what their rates include."""

    words: str
    lines: tuple[ChartLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateScale:
    """A logarithmic scale from a whole power of ten, the same in all charts of a page."""

    low: int
    high: float

    def place(self, eps: float) -> float:
        """Return the place of a rate, in per cent of the width."""
        return round(100 * (math.log10(eps) - self.low) / (self.high - self.low), 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The places and texts of two or more powers of ten, at equal distances."""
        last = math.floor(self.high)
        step = math.ceil((last - self.low) / _MOST_STEPS)
        return [
            (self.place(10.0**power), count(10.0**power).text)
            for power in range(self.low, last + 1, step)
        ]


def rate_scale(cells: Sequence[Cell]) -> RateScale | None:
    """Return the common scale of all rates; None without any."""
    values = [v for c in cells if c.throughput_eps for v in c.throughput_eps.values if v > 0]
    if not values:
        return None
    low = math.floor(math.log10(min(values)))
    return RateScale(low=low, high=max(math.log10(max(values)) + _ROOM, low + 1))


def rate_chart(members: Sequence[Cell], scale: RateScale) -> list[ChartClass]:
    """Return the classes of one workload and input; cells without a rate are only in the table."""
    classes = []
    for words, rows in classes_of(members):
        rated = [row for row in rows if row.throughput]
        lines = group_by(rated, lambda row: row.cell.series).values()
        drawn = [_line(line, scale) for line in lines]
        drawn.sort(key=lambda line: -_median(line.best))
        if drawn:
            classes.append(ChartClass(words=words or "conditions not declared", lines=tuple(drawn)))
    return classes


def _line(rows: Sequence[HeadlineRow], scale: RateScale) -> ChartLine:
    best = max(rows, key=_median)
    dots = (_dot(row.cell, scale) for row in rows)
    return ChartLine(best=best, dots=tuple(dot for dot in dots if dot))


def _dot(cell: Cell, scale: RateScale) -> Dot | None:
    eps = cell.throughput_eps
    if eps is None or eps.low <= 0:
        return None
    low = scale.place(eps.low)
    spread = f", {_span(rate(eps.low), rate(eps.high))}, n = {eps.n}" if eps.n > 1 else ""
    return Dot(
        at=scale.place(eps.median),
        low=low,
        width=round(max(scale.place(eps.high) - low, _LEAST_WIDTH), 2),
        text=f"{counted_workers(cell.workers)}: {rate(eps.median).text}{spread}",
        hollow=cell.oversubscribed,
    )


def _span(low: Quantity, high: Quantity) -> str:
    return f"{low.text} to {high.text}"


def _median(row: HeadlineRow) -> float:
    assert row.cell.throughput_eps is not None
    return row.cell.throughput_eps.median
