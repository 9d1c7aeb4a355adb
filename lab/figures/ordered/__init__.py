"""The figures of Scaling Ordered Stream Processing on Shared-Memory Multicores (section 7)."""

from lab.figures.ordered import cost, heuristics, reordering, schemes, skew
from lab.figures.ordered.shared import facts

__all__ = ["FIGURES", "facts"]

FIGURES = (
    heuristics.FIGURE,
    skew.FIGURE,
    cost.FIGURE,
    schemes.FIGURE_11,
    reordering.FIGURE_12,
    reordering.FIGURE_13,
    schemes.FIGURE_14,
)
