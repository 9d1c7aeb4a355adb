"""Draws synchronization plans as SVG with matplotlib.

Leaves are side by side, every parent is above the middle of its children, and trees are in a row.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamlab.workloads.model.dgs.plan import Plan, PlanNode
from streamlab.workloads.model.dgs.plan_text import across_lines, heading, node_label, select_trees
from streamlab.workloads.model.svg import CENTERED, draw_box, svg_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SLOT_IN = 2.2
"""Width of one leaf, in inches: a line of some 28 characters at 8 points."""

LEVEL_IN = 1.1
"""Height of one level, in inches."""

GAP = 0.4
"""Space between two trees, in leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    node: PlanNode
    x: float
    level: int
    children: tuple["_Placed", ...]


def plan_svg(plan: Plan) -> str:
    """Return the plan as SVG text; the same plan gives the same text."""
    trees, rest = select_trees(plan)
    head = "\n".join([heading(plan), *across_lines(plan)])
    left, placed = 0.0, []
    for tree in trees:
        placed.append((tree.title, _place(tree.root, left, 0)))
        left += _leaves(tree.root) + GAP
    levels = max(_depth(tree.root) for tree in trees)
    width = max((left - GAP) * SLOT_IN, 5.0)
    height = levels * LEVEL_IN + 0.9 + 0.17 * head.count("\n")

    def draw(figure: "Figure", axes: "Axes") -> None:
        middle, half = (left - GAP) / 2, width / SLOT_IN / 2
        axes.set_xlim(middle - half, middle + half)
        axes.set_ylim(-levels + 0.5, 0.5 + 0.9 / LEVEL_IN)
        figure.text(0.5, 1 - 0.12 / height, head, ha="center", va="top", fontsize=10)
        if rest:
            figure.text(0.5, 0.05 / height, rest, ha="center", va="bottom", fontsize=8)
        for title, root in placed:
            axes.text(root.x, 0.55, title, **CENTERED, fontsize=9, color="#555555")
            _draw(plan, root, axes)

    return svg_page(width, height, draw)


def _leaves(node: PlanNode) -> int:
    return sum(not below.children for below in node.walk())


def _depth(node: PlanNode) -> int:
    return 1 + max((_depth(child) for child in node.children), default=0)


def _place(node: PlanNode, left: float, level: int) -> _Placed:
    children = []
    at = left
    for child in node.children:
        children.append(_place(child, at, level + 1))
        at += _leaves(child)
    x = sum(child.x for child in children) / len(children) if children else left + 0.5
    return _Placed(node=node, x=x, level=level, children=tuple(children))


def _draw(plan: Plan, placed: _Placed, axes: "Axes") -> None:
    for child in placed.children:
        axes.plot([placed.x, child.x], [-placed.level, -child.level], color="#888888", lw=1)
        _draw(plan, child, axes)
    label, is_leaf = node_label(plan, placed.node), not placed.children
    draw_box(axes, placed.x, -placed.level, label, rounded=is_leaf, pad=0.5)
