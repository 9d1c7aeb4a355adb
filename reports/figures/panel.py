"""Makes the frame of a figure in the common style of all figures, and writes figures to disk."""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from streamlab.reports.palette import GRID, INK, MUTED, PAPER

WIDTH_IN = 4.4

RC: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: searchable, and in the page's colours
    "svg.hashsalt": "stream-lab",  # keeps element ids equal from one rendering to the next
}


def new_panel(*, title: str, subtitle: str, height_in: float, box: Sequence[float]) -> Axes:
    """Return empty axes with a title above and only the lines that help reading.

    Args:
        title: title, in bold at the top left.
        subtitle: the vertical quantity, its unit, and the meaning of the marks.
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
            parse_math=False,  # a dollar in a name is a dollar
        )
    return axes


def row_label(axes: Axes, at: float, text: str, *, x: float = 0.0, **style: Any) -> None:
    """Write a text in a row of a panel: `at` in rows from the top, `x` as share of the width."""
    box = {"facecolor": PAPER.light, "edgecolor": "none", "pad": 0.8}
    look: dict[str, Any] = {"size": 7.5, "color": INK.light, "bbox": box} | style
    transform = axes.get_yaxis_transform()
    axes.text(x, at, text, parse_math=False, transform=transform, va="center", **look)


def grid(axes: Axes, axis: Literal["x", "y"]) -> None:
    """Draw faint grid lines for an axis."""
    axes.grid(visible=True, axis=axis, which="major", color=GRID.light, linewidth=0.8)


def save(axes: Axes, stem: Path) -> str:
    """Write `<stem>.svg` and `<stem>.png`, and return the SVG text.

    Equal figures give equal bytes.
    """
    figure = axes.figure
    assert isinstance(figure, Figure)
    stem.parent.mkdir(parents=True, exist_ok=True)
    svg = as_svg(axes)
    stem.with_name(stem.name + ".svg").write_text(svg, encoding="utf-8")
    with mpl.rc_context(RC):
        figure.savefig(
            stem.with_name(stem.name + ".png"), format="png", dpi=200, metadata={"Software": None}
        )
    return svg


def as_svg(axes: Axes) -> str:
    """Return a figure as SVG text; equal figures give equal texts."""
    figure, file = axes.figure, StringIO()
    assert isinstance(figure, Figure)
    with mpl.rc_context(RC):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()
