"""Makes figures in a common style, records the places of their marks, and writes figures to disk."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from streamlab.reports.numbers import Quantity
from streamlab.reports.palette import GRID, INK, MUTED, PAPER
from streamlab.results.query import Spread

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

WIDTH_IN = 4.4
_POINTS_PER_INCH = 72  # matplotlib's SVG files are in points

RC: "dict[RcKeyType, str]" = {
    "svg.fonttype": "none",  # keep text as text: searchable, and in the page's colours
    "svg.hashsalt": "stream-lab",  # keep element ids equal in all renderings
}

_NO_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}

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


def new_panel(*, title: str, subtitle: str, height_in: float, box: Sequence[float]) -> Axes:
    """Return empty axes with a title, and without lines that do not help reading.

    Args:
        title: title, in bold at the top left.
        subtitle: the quantity, its unit, and the meaning of the marks.
        height_in: height of the figure in inches.
        box: left, bottom, right and top margins of the axes, in inches.
    """
    figure = Figure(figsize=(WIDTH_IN, height_in), facecolor=PAPER.light)
    left, bottom, right, top = box
    axes = figure.add_axes(
        (
            left / WIDTH_IN,
            bottom / height_in,
            (WIDTH_IN - left - right) / WIDTH_IN,
            (height_in - bottom - top) / height_in,
        ),
        facecolor="none",
    )
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(MUTED.light)
    axes.tick_params(colors=MUTED.light, labelsize=8, length=3, width=0.8)
    axes.tick_params(axis="y", length=0)
    axes.set_axisbelow(True)
    for words, size, weight, down in ((title, 10, "bold", 0.10), (subtitle, 7.5, "normal", 0.31)):
        figure.text(
            0.02,
            1 - down / height_in,
            words,
            size=size,
            weight=weight,
            color=INK.light if weight == "bold" else MUTED.light,
            va="top",
            parse_math=False,  # a dollar sign in a name stays a dollar sign
        )
    return axes


def log_row_panel(
    title: str,
    subtitle: str,
    height_in: float,
    limits: tuple[float, float],
    rows: tuple[float, float],
) -> Axes:
    """Return a panel with a logarithmic horizontal axis and a range of rows."""
    box = (0.25, 0.32, 0.25, 0.62)
    axes = new_panel(title=title, subtitle=subtitle, height_in=height_in, box=box)
    axes.set_xscale("log")
    axes.set_xlim(*limits)
    axes.set_ylim(*rows)
    axes.set_yticks([])
    grid(axes, "x")
    return axes


def row_label(axes: Axes, row: float, text: str, *, x: float = 0.0, **style: Any) -> None:
    """Write a text in a panel, `row` rows below the top, at the share `x` of the width."""
    box = {"facecolor": PAPER.light, "edgecolor": "none", "pad": 0.8}
    text_style: dict[str, Any] = {"size": 7.5, "color": INK.light, "bbox": box} | style
    transform = axes.get_yaxis_transform()
    axes.text(x, row, text, parse_math=False, transform=transform, va="center", **text_style)


def grid(axes: Axes, axis: Literal["x", "y"]) -> None:
    """Draw faint grid lines for an axis."""
    axes.grid(visible=True, axis=axis, which="major", color=GRID.light, linewidth=0.8)


def collect_spots(axes: Axes, marks: Iterable[Mark]) -> Panel:
    """Return a panel of axes and marks; the limits must be final, since they determine the marks' places."""
    figure = axes.figure
    assert isinstance(figure, Figure)
    scale, height = _POINTS_PER_INCH / figure.dpi, figure.get_figheight() * _POINTS_PER_INCH
    spots = []
    for x, y, text in marks:
        right, up = axes.transData.transform((x, y))
        spots.append(Spot(x=float(right) * scale, y=height - float(up) * scale, text=text))
    return Panel(axes=axes, spots=tuple(spots))


def describe_spread(spread: Spread, write: Callable[[float], Quantity]) -> str:
    """Format the exact median, and the range if there are several values."""
    middle = write(spread.median).exact
    if spread.n == 1:
        return f"{middle} (one process)"
    return (
        f"{middle} (median of {spread.n}: {write(spread.low).exact} to {write(spread.high).exact})"
    )


def save(axes: Axes, stem: Path) -> str:
    """Write `<stem>.svg` and `<stem>.png`, and return the SVG text."""
    figure = axes.figure
    assert isinstance(figure, Figure)
    stem.parent.mkdir(parents=True, exist_ok=True)
    svg, _ = save_as(figure, stem, ("svg", "png"), dpi=200)
    return svg.read_text(encoding="utf-8")


def save_as(
    figure: Figure, stem: Path, formats: Sequence[str], *, dpi: int = 160
) -> tuple[Path, ...]:
    """Write a figure in these formats; equal figures give equal bytes."""
    paths = tuple(stem.with_name(f"{stem.name}.{kind}") for kind in formats)
    with mpl.rc_context(RC):
        for path, kind in zip(paths, formats, strict=True):
            figure.savefig(path, format=kind, dpi=dpi, metadata=_NO_METADATA[kind])
    return paths


def as_svg(axes: Axes) -> str:
    """Return a figure as SVG text; equal figures give equal texts."""
    figure, file = axes.figure, StringIO()
    assert isinstance(figure, Figure)
    with mpl.rc_context(RC):
        figure.savefig(file, format="svg", metadata=_NO_METADATA["svg"])
    return file.getvalue()
