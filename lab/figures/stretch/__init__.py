"""Reproduces the figures of STRETCH: Virtual Shared-Nothing Parallelism (section 8, appendix F)."""

from streamlab.lab.figures.stretch import (
    abrupt,
    counts,
    forward,
    scale_join,
    step_timeline,
    step_times,
    trading_day,
)
from streamlab.lab.figures.stretch.paper_setup import facts

__all__ = ["FIGURES", "facts"]

FIGURES = (
    counts.FIGURE,
    forward.FIGURE,
    scale_join.FIGURE,
    step_times.TABLE_4,
    step_times.FIGURE_9,
    step_timeline.FIGURE,
    abrupt.ONE_EXECUTION,
    abrupt.RISE,
    trading_day.FIGURE,
    abrupt.THREE_EXECUTIONS,
    abrupt.FOURTH_EXECUTION,
)
