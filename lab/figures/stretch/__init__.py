"""Reproduces the figures of STRETCH: Virtual Shared-Nothing Parallelism (section 8, appendix F)."""

from streamlab.lab.figures.stretch import (
    abrupt,
    counts,
    forward,
    rise,
    scale_join,
    step_timeline,
    step_times,
    table_4,
    trading_day,
)
from streamlab.lab.figures.stretch.shared import facts

__all__ = ["FIGURES", "facts"]

FIGURES = (
    counts.FIGURE,
    forward.FIGURE,
    scale_join.FIGURE,
    table_4.FIGURE,
    step_times.FIGURE,
    step_timeline.FIGURE,
    abrupt.ONE_EXECUTION,
    rise.FIGURE,
    trading_day.FIGURE,
    abrupt.THREE_EXECUTIONS,
    abrupt.FOURTH_EXECUTION,
)
