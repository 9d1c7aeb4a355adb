"""Reproduces figures of Scaling Ordered Stream Processing on Shared-Memory Multicores (section 7)."""

from streamlab.lab.figures.ordered import buffers, cost, heuristics, queues, reordering, skew
from streamlab.lab.figures.ordered.shared import facts

__all__ = ["FIGURES", "facts"]

FIGURES = (
    heuristics.FIGURE,
    skew.FIGURE,
    cost.FIGURE,
    queues.FIGURE,
    reordering.FIGURE_12,
    reordering.FIGURE_13,
    buffers.FIGURE,
)
