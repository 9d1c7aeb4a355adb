"""Records the places and exact values of a figure's marks, so that a page can show them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from streamlab.reports.numbers import Quantity
from streamlab.results.query import Spread

_POINTS_PER_INCH = 72  # matplotlib's SVG files are in points

Mark = tuple[float, float, str]
"""A place in data coordinates, and the text of its mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A mark of a figure: its place from the top left in units of the SVG, and its text."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A drawn figure with its marks."""

    axes: Axes
    spots: tuple[Spot, ...]


def with_spots(axes: Axes, marks: Iterable[Mark]) -> Panel:
    """Return the panel of axes with their marks; later changes of the limits would misplace these."""
    figure = axes.figure
    assert isinstance(figure, Figure)
    scale, height = _POINTS_PER_INCH / figure.dpi, figure.get_figheight() * _POINTS_PER_INCH
    spots = []
    for x, y, text in marks:
        right, up = axes.transData.transform((x, y))
        spots.append(Spot(x=float(right) * scale, y=height - float(up) * scale, text=text))
    return Panel(axes=axes, spots=tuple(spots))


def describe_spread(spread: Spread, write: Callable[[float], Quantity]) -> str:
    """Format a median exactly, with its range if it has one."""
    middle = write(spread.median).exact
    if spread.n == 1:
        return f"{middle} (one process)"
    return (
        f"{middle} (median of {spread.n}: {write(spread.low).exact} to {write(spread.high).exact})"
    )
