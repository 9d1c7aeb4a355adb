"""The figures of STRETCH: Virtual Shared-Nothing Parallelism (section 8, appendix F)."""

from lab.figures.stretch import abrupt, counts, elastic, forward, scale_join, trading_day
from lab.figures.stretch.shared import facts

__all__ = ["FIGURES", "facts"]

FIGURES = (
    counts.FIGURE,
    forward.FIGURE,
    scale_join.FIGURE,
    *elastic.FIGURES,
    *abrupt.FIGURES[:2],
    trading_day.FIGURE,
    *abrupt.FIGURES[2:],
)
