"""The figures of Stream Processing with Dependency-Guided Synchronization (section 4, appendix D).

Each figure is a module; what they share is in `shared`.
"""

from lab.figures.flumina import automatic, latency, manual, scaling, tradeoffs
from lab.figures.flumina.shared import facts

__all__ = ["FIGURES", "facts"]

FIGURES = (
    automatic.FIGURE,
    manual.FIGURE,
    scaling.FIGURE,
    latency.FIGURE,
    tradeoffs.FIGURE,
)
