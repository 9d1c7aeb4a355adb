"""The figures of Data-Trace Types for Distributed Stream Processing Systems (section 6)."""

from lab.figures.datatrace.queries import YAHOO
from lab.figures.datatrace.shared import facts
from lab.figures.datatrace.smart_home import SMART_HOME

FIGURES = (YAHOO, SMART_HOME)

__all__ = ["FIGURES", "facts"]
