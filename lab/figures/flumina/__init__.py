"""The figures of Stream Processing with Dependency-Guided Synchronization (4, appendices A, D).

Each figure is a module; what they share is in `shared`.
"""

from streamlab.lab.figures.flumina import (
    automatic,
    homes,
    latency,
    manual,
    outliers,
    scaling,
    tradeoffs,
)
from streamlab.lab.figures.flumina.shared import facts

__all__ = ["FIGURES", "facts"]

FIGURES = (
    automatic.FIGURE,
    manual.FIGURE,
    scaling.FIGURE,
    latency.FIGURE,
    tradeoffs.FIGURE,
    outliers.FIGURE,
    homes.FIGURE,
)
