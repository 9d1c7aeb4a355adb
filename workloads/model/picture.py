"""Renders pictures of boxes and arrows as text, and as SVG with matplotlib; a box is below the boxes that it reads."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from textwrap import wrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 100
"""Width of text."""

LETTER_IN = 0.075
"""Width of a letter at 8 points, in inches."""
LINE_IN = 0.17
"""Height of a line at 8 points, in inches."""
LEVEL_GAP_IN = 0.6
"""Height between two levels, in inches."""
SLOT_GAP_IN = 0.3
"""Width between two boxes of a level, in inches."""
TITLE_IN = 0.5
"""Height of a title with its margins, in inches."""
TITLE_SCALE = 1.3
"""Width of a letter of a title (10 points, with a margin), in letters at 8 points."""

_CENTERED: dict[str, Any] = {"ha": "center", "va": "center"}

Spot = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Describes a node of a picture: its name, kind and details, and its level below all that it reads."""

    lines: tuple[str, ...]
    level: int
    is_source: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """Describes an edge of a picture, between two boxes."""

    source: int
    target: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Holds boxes and arrows.

    Attributes:
        answers: Indices of the boxes that the answer leaves.
        answer: Type of the answer.
        notes: Explanations, shown in the text only.
    """

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    answers: tuple[int, ...]
    answer: str
    notes: tuple[str, ...] = ()


def workers_text(workers: int) -> str:
    """Return a number of workers as text."""
    return f"{workers} {'worker' if workers == 1 else 'workers'}"


def pictures_text(pictures: Sequence[Picture]) -> str:
    """Return pictures as text, with at most COLUMNS columns."""
    lines = []
    for picture in pictures:
        lines += [picture.title, *_rows(picture), *(f"  {note}" for note in picture.notes)]
    return "\n".join(
        part for line in lines for part in wrap(line, COLUMNS, subsequent_indent=" " * 6)
    )


def _rows(picture: Picture) -> Iterator[str]:
    """Yield a line for each box: its name, kind and inputs."""
    names, kinds = zip(*(box.lines[:2] for box in picture.boxes), strict=True)
    name_width = max(map(len, names))
    kind_width = max(map(len, kinds))
    for index, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        reads = [
            f"{names[arrow.source]} ({', '.join(arrow.lines)})"
            for arrow in picture.arrows
            if arrow.target == index
        ]
        line = f"  {name:<{name_width}}  {kind:<{kind_width}}"
        yield (f"{line}  <- {', '.join(reads)}" if reads else line).rstrip()
        yield from (f"  {'':<{name_width}}  {detail}" for detail in picture.boxes[index].lines[2:])
    answers = ", ".join(f"{names[box]} ({picture.answer})" for box in picture.answers)
    yield f"  {'answer':<{name_width}}  {'':<{kind_width}}  <- {answers}"


def pictures_svg(pictures: Sequence[Picture], head: Sequence[str] = ()) -> str:
    """Return pictures side by side, below the lines of a head, as SVG text; equal pictures give equal texts."""
    placed = [_Placement(picture) for picture in pictures]
    top = LINE_IN * (len(head) + 0.5) if head else 0.0
    width = max(
        [*(LETTER_IN * TITLE_SCALE * len(line) for line in head), sum(p.width for p in placed)]
    )
    height = top + max(picture.height for picture in placed)

    def draw(axes: "Axes") -> None:
        axes.set_xlim(0, width)
        axes.set_ylim(height - top, -top)
        left = (width - sum(picture.width for picture in placed)) / 2
        for number, line in enumerate(head):
            axes.text(width / 2, LINE_IN * (number + 1) - top, line, **_CENTERED, fontsize=10)
        for picture in placed:
            picture.draw(axes, left)
            left += picture.width

    return _page(width, height, draw)


class _Placement:
    """Places each box of a picture, in inches from its upper left corner."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        words = [line for arrow in picture.arrows for line in arrow.lines]
        names = [line for box in picture.boxes for line in box.lines]
        longest = max(map(len, [*words, *names, picture.answer]))
        slot = LETTER_IN * longest + SLOT_GAP_IN
        self._half = LINE_IN * max(len(box.lines) for box in picture.boxes) / 2 + 0.06
        self._step = 2 * self._half + LEVEL_GAP_IN
        levels = [box.level for box in picture.boxes]
        most_boxes = max(levels.count(level) for level in levels)
        self.width = max(most_boxes * slot, LETTER_IN * TITLE_SCALE * len(picture.title)) + 0.4
        self.height = TITLE_IN + self._step * (max(levels) + 1) + 0.5
        self.spots: list[Spot] = [(0.0, 0.0)] * len(levels)
        for level in range(max(levels) + 1):
            boxes = [index for index, box_level in enumerate(levels) if box_level == level]
            # Place boxes below the middle of their inputs, so that few arrows cross.
            boxes.sort(key=self._middle_above)
            for position, index in enumerate(boxes):
                x = self.width / 2 + slot * (position - (len(boxes) - 1) / 2)
                self.spots[index] = (x, TITLE_IN + self._half + level * self._step)

    def _middle_above(self, box: int) -> float:
        above = [
            self.spots[arrow.source][0] for arrow in self._picture.arrows if arrow.target == box
        ]
        return sum(above) / max(1, len(above))

    def draw(self, axes: "Axes", left: float) -> None:
        """Draw the picture with its left side at `left`."""
        middle = left + self.width / 2
        axes.text(middle, 0.2, self._picture.title, **_CENTERED, fontsize=10)
        for arrow in self._picture.arrows:
            boxes = self._picture.boxes
            spans_levels = boxes[arrow.target].level - boxes[arrow.source].level > 1
            ends = self.spots[arrow.source], self.spots[arrow.target]
            self._arrow(axes, left, ends, arrow.lines, spans_levels=spans_levels)
        if self._picture.answers:
            x, y = self.spots[-1]
            end = y + self._step - self._half + 0.1
            for answer in self._picture.answers:
                ends = self.spots[answer], (x, end + self._half)
                self._arrow(axes, left, ends, (self._picture.answer,), spans_levels=False)
            axes.text(left + x, end + 0.12, "answer", **_CENTERED, fontsize=8)
        for (x, y), box in zip(self.spots, self._picture.boxes, strict=True):
            _draw_box(axes, left + x, y, "\n".join(box.lines), rounded=box.is_source)

    def _arrow(
        self,
        axes: "Axes",
        left: float,
        ends: tuple[Spot, Spot],
        lines: tuple[str, ...],
        *,
        spans_levels: bool,
    ) -> None:
        """Draw an arrow with its words; bend it if it spans several levels, to avoid other boxes."""
        (x, y), (to_x, to_y) = ends
        bend = 0.0 if not spans_levels else 0.35 if x <= to_x else -0.35
        axes.annotate(
            "",
            xy=(left + to_x, to_y - self._half),
            xytext=(left + x, y),
            arrowprops={
                "arrowstyle": "->",
                "color": "#888888",
                "lw": 1,
                "connectionstyle": f"arc3,rad={bend}",
            },
            zorder=1,
        )
        if not lines:
            return
        # The middle of the arc: matplotlib bends it by this share of the distance.
        aside = bend * (to_y - self._half - y) / 2
        axes.text(
            left + (x + to_x) / 2 - aside,
            (y + to_y) / 2,
            "\n".join(lines),
            **_CENTERED,
            fontsize=7,
            color="#444444",
            zorder=2,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
        )


def _page(width: float, height: float, draw: "Callable[[Axes], None]") -> str:
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
        draw(axes)
        buffer = StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def _draw_box(axes: "Axes", x: float, y: float, text: str, *, rounded: bool) -> None:
    """Draw a box with text; a rounded box is blue, a square box yellow."""
    style = {
        "boxstyle": f"{'round' if rounded else 'square'},pad=0.4",
        "facecolor": "#e3eefb" if rounded else "#fdf1dc",
        "edgecolor": "#555555",
    }
    axes.text(x, y, text, **_CENTERED, fontsize=8, zorder=3, bbox=style)
