"""Reproduces figures of Stream Processing with Dependency-Guided Synchronization (DGS).

They are in section 4 and appendices A and D. Each figure is a module; `shared` has the common parts.
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
