"""Names the lines of a figure without ambiguity, and places labels without overlaps."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from streamlab.reports.numbers import unit_words
from streamlab.reports.summary import Cell
from streamlab.results.query import group_by

LABEL_GAP_IN = 0.155
_FONT_SIZE = 8.0
_LETTER_IN = 0.062  # average width of a letter at _FONT_SIZE
_LABEL_X = 1.055  # start of labels, as share of the axes' width
_LEAST_MARGIN_IN, _MAX_MARGIN_IN = 1.52, 2.4

Series = tuple[str, str, int | None, str]


def short_names(cells: Iterable[Cell]) -> Mapping[Series, str]:
    """Return a name per series: the engine, and the unit of hand-over if an engine has several."""
    labels = {cell.series: cell.engine_label for cell in cells}
    batches = group_by(labels, lambda series: series[:2])
    return {
        series: f"{label}, {unit_words(series[2])}"
        if series[2] is not None and len({batch for _, _, batch, _ in batches[series[:2]]}) > 1
        else label
        for series, label in labels.items()
    }


def place_names(cells: Iterable[Cell]) -> Mapping[str, str]:
    """Return a name per cell id: the engine, and only the parts that distinguish the cells."""
    distinct = list({cell.name: cell for cell in cells}.values())
    names = short_names(distinct)
    has_workers = len({cell.workers for cell in distinct}) > 1
    loads = {cell.load.label for cell in distinct if cell.load}
    by_id: dict[str, str] = {}
    for cell in distinct:
        parts = [names[cell.series]]
        if has_workers:
            parts.append(f"w{cell.workers}")
        if len(loads) > 1 and cell.load:
            parts.append(cell.load.label)
        by_id[cell.name] = " ".join(parts)
    return by_id


def label_margin_in(names: Iterable[str]) -> float:
    """Return the width in inches that `label_ends` needs for names to the right of the axes."""
    longest = max(map(len, names), default=0)
    return min(max(_LEAST_MARGIN_IN, 0.3 + _LETTER_IN * longest), _MAX_MARGIN_IN)


def label_ends(
    axes: Axes,
    ends: Sequence[tuple[str, tuple[float, float], str]],
    axes_height_in: float,
    *,
    begin: float | None = None,
) -> None:
    """Write the names of lines to the right of the axes, each connected to the end of its line.

    All names have the same font size, which shrinks until the longest name fits.

    Args:
        axes: the axes; their limits must be final.
        ends: name, last point and colour of each line.
        axes_height_in: height of the axes in inches.
        begin: start of the connecting lines as share of the width; None: next to the last point.
    """
    to_axes = axes.transData + axes.transAxes.inverted()
    points = [to_axes.transform(end) for _, end, _ in ends]
    gap = LABEL_GAP_IN / axes_height_in
    heights = spread([float(y) for _, y in points], gap=gap, low=0.01, high=1.0)
    size = _fitting_size(axes, [name for name, _, _ in ends])
    for (name, _, colour), (x, y), height in zip(ends, points, heights, strict=True):
        axes.plot(
            [float(x) + 0.025 if begin is None else begin, 1.0, 1.04],
            [float(y), float(y), height],
            transform=axes.transAxes,
            clip_on=False,
            color=colour,
            linewidth=0.6,
            linestyle=":",
            zorder=1,
        )
        axes.text(
            _LABEL_X,
            height,
            name,
            parse_math=False,
            transform=axes.transAxes,
            size=size,
            color=colour,
            va="center",
        )


def _fitting_size(axes: Axes, names: Sequence[str]) -> float:
    """Return the font size at which all names fit between the axes and the edge of the figure."""
    figure, box = axes.figure, axes.get_position()
    assert isinstance(figure, Figure)
    room_in = (1.0 - box.x0 - _LABEL_X * box.width) * figure.get_figwidth()
    width_in = _LETTER_IN * max(map(len, names), default=0)
    return _FONT_SIZE * min(1.0, room_in / width_in) if width_in else _FONT_SIZE


def spread(preferred: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Move positions as little as possible until neighbours are at least `gap` apart.

    Keeps the order. If `low` to `high` is too short for these gaps, spaces the positions evenly over this
    range.

    Returns:
        The new positions, in the order of `preferred`.
    """
    from scipy.optimize import isotonic_regression  # heavy

    if not preferred:
        return []
    order = np.argsort(preferred, kind="stable")
    offsets = gap * np.arange(len(order))
    room = high - low - offsets[-1]
    if room < 0:
        placed = np.linspace(low, high, len(order))
    else:
        starts = isotonic_regression(np.asarray(preferred)[order] - offsets).x
        placed = np.clip(starts, low, low + room) + offsets
    result = np.empty(len(order))
    result[order] = placed
    return [float(position) for position in result]
