"""Draws pictures side by side as SVG with matplotlib; boxes are below those that they read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from streamlab.workloads.model.dataflow.drawing import Picture
from streamlab.workloads.model.svg import CENTERED, draw_box, svg_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LETTER_IN = 0.075
"""Width of a letter at 8 points, in inches."""
LINE_IN = 0.17
"""Height of a line at 8 points, in inches."""
LEVEL_GAP_IN = 0.6
SLOT_GAP_IN = 0.3
TITLE_IN = 0.5

Spot = tuple[float, float]


def pictures_svg(pictures: Sequence[Picture]) -> str:
    """Return pictures as SVG text; the same pictures give the same text."""
    placed = [_Placed(picture) for picture in pictures]
    width = sum(picture.width for picture in placed)
    height = max(picture.height for picture in placed)

    def draw(_: "Figure", axes: "Axes") -> None:
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
        left = 0.0
        for picture in placed:
            picture.draw(axes, left)
            left += picture.width

    return svg_page(width, height, draw)


class _Placed:
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
        most = max(levels.count(level) for level in levels)
        self.width = max(most * slot, LETTER_IN * 1.3 * len(picture.title)) + 0.4
        self.height = TITLE_IN + self._step * (max(levels) + 1) + 0.5
        self.spots: list[Spot] = [(0.0, 0.0)] * len(levels)
        for level in range(max(levels) + 1):
            boxes = [index for index, at in enumerate(levels) if at == level]
            # Place boxes below the middle of their inputs, so that few arrows cross.
            boxes.sort(key=self._middle_above)
            for place, index in enumerate(boxes):
                x = self.width / 2 + slot * (place - (len(boxes) - 1) / 2)
                self.spots[index] = (x, TITLE_IN + self._half + level * self._step)

    def _middle_above(self, box: int) -> float:
        above = [
            self.spots[arrow.source][0] for arrow in self._picture.arrows if arrow.target == box
        ]
        return sum(above) / max(1, len(above))

    def draw(self, axes: "Axes", left: float) -> None:
        """Draw the picture with its left side at `left`."""
        middle = left + self.width / 2
        axes.text(middle, 0.2, self._picture.title, **CENTERED, fontsize=10)
        for arrow in self._picture.arrows:
            boxes = self._picture.boxes
            far = boxes[arrow.target].level - boxes[arrow.source].level > 1
            ends = self.spots[arrow.source], self.spots[arrow.target]
            self._arrow(axes, left, ends, arrow.lines, far=far)
        x, y = self.spots[-1]
        end = y + self._step - self._half + 0.1
        for answer in self._picture.answers:
            ends = self.spots[answer], (x, end + self._half)
            self._arrow(axes, left, ends, (self._picture.answer,), far=False)
        axes.text(left + x, end + 0.12, "answer", **CENTERED, fontsize=8)
        for (x, y), box in zip(self.spots, self._picture.boxes, strict=True):
            draw_box(axes, left + x, y, "\n".join(box.lines), rounded=box.is_source, pad=0.4)

    def _arrow(
        self,
        axes: "Axes",
        left: float,
        ends: tuple[Spot, Spot],
        lines: tuple[str, ...],
        *,
        far: bool,
    ) -> None:
        """Draw an arrow with its words; bend it if it spans several levels, to avoid other boxes."""
        (x, y), (to_x, to_y) = ends
        bend = 0.0 if not far else 0.35 if x <= to_x else -0.35
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
        # The middle of the arc: matplotlib bends it by this share of the distance.
        aside = bend * (to_y - self._half - y) / 2
        axes.text(
            left + (x + to_x) / 2 - aside,
            (y + to_y) / 2,
            "\n".join(lines),
            **CENTERED,
            fontsize=7,
            color="#444444",
            zorder=2,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
        )
