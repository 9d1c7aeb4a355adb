"""Reproduces figures of Stream Processing with Dependency-Guided Synchronization (DGS).

The figures are in section 4 and appendices A and D; `paper_setup` and `forms` have their common parts.
"""

from streamlab.lab.figures.flumina import flink, homes, latency, throughput, tradeoffs
from streamlab.lab.figures.flumina.paper_setup import facts

__all__ = ["FIGURES", "facts"]

FIGURES = (
    *flink.FIGURES,
    throughput.FIGURE_8,
    latency.FIGURE,
    tradeoffs.FIGURE,
    throughput.FIGURE_A1,
    homes.FIGURE,
)
