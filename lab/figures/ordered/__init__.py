"""Reproduces figures of Scaling Ordered Stream Processing on Shared-Memory Multicores (section 7)."""

from streamlab.lab.figures.ordered import heuristics, peaks, queues, reordering
from streamlab.lab.figures.ordered.paper_setup import facts

__all__ = ["FIGURES", "facts"]

FIGURES = (
    heuristics.FIGURE,
    queues.SKEW,
    queues.COST,
    peaks.QUEUES,
    reordering.FIGURE_12,
    reordering.FIGURE_13,
    peaks.BUFFERS,
)
