"""Draws boxes on a page of SVG with matplotlib."""

from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CENTERED: dict[str, Any] = {"ha": "center", "va": "center"}


def svg_page(width: float, height: float, draw: "Callable[[Figure, Axes], None]") -> str:
    """Return a page of this size, in inches, as SVG; the same drawing gives the same text."""
    import matplotlib as mpl  # slow to load
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    # Without a fixed salt, matplotlib names clip paths at random.
    with mpl.rc_context({"svg.hashsalt": "plan", "svg.fonttype": "none"}):
        figure = Figure(figsize=(width, height))
        FigureCanvasSVG(figure)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        draw(figure, axes)
        buffer = StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def draw_box(axes: "Axes", x: float, y: float, text: str, *, rounded: bool, pad: float) -> None:
    """Draw a box with text; a rounded one is blue, the others are yellow."""
    style = {
        "boxstyle": f"{'round' if rounded else 'square'},pad={pad}",
        "facecolor": "#e3eefb" if rounded else "#fdf1dc",
        "edgecolor": "#555555",
    }
    axes.text(x, y, text, **CENTERED, fontsize=8, zorder=3, bbox=style)
