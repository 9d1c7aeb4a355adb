"""Sets up logarithmic time axes, and writes times next to marks."""

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from streamlab.reports.numbers import duration, latency
from streamlab.reports.palette import MUTED

Range = tuple[float, float]

_SHORT_RATIO = 60.0  # below about two decades, there may be only one power of ten


def range_of(values: Iterable[float]) -> Range | None:
    """Return an axis range in ns, with room at both ends for texts next to marks; None without values."""
    numbers = list(values)
    if not numbers:
        return None
    low, high = max(min(numbers), 1.0), max(*numbers, 1.0)
    room = max((high / low) ** 0.22, 3.0)
    return (low / room, high * room)


def log_ticks(axis: Axis) -> None:
    """Give a logarithmic axis few ticks, but more than one even on a short range."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(
        LogLocator(subs=(1.0, 2.0, 5.0) if high / low < _SHORT_RATIO else (1.0,), numticks=7)
    )
    axis.set_minor_locator(NullLocator())


def readable_ticks(values: Iterable[float], least: float) -> list[float]:
    """Filter ascending values to be more than `least` apart, so that their labels do not touch."""
    ticks: list[float] = []
    for value in values:
        if not ticks or value - ticks[-1] > least:
            ticks.append(value)
    return ticks


def time_ticks(axis: Axis) -> None:
    """Give a logarithmic axis in ns few ticks, with units."""
    log_ticks(axis)
    axis.set_major_formatter(FuncFormatter(_format_tick))


def annotate_latency(
    axes: Axes, point: tuple[float, float], ns: float, *, shift_pt: float, side: str
) -> None:
    """Write a latency next to the mark at a point."""
    axes.annotate(
        latency(ns).text,
        point,
        xytext=(shift_pt, 0),
        textcoords="offset points",
        ha=side,
        va="center",
        size=7.5,
        color=MUTED.light,
    )


def _format_tick(value: float, _: object) -> str:
    number, _, unit = duration(value).text.partition(" ")
    return f"{float(number.replace(',', '')):g} {unit}"
