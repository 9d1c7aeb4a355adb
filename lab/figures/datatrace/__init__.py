"""Reproduces figures of Data-Trace Types for Distributed Stream Processing Systems (section 6)."""

from streamlab.lab.figures.datatrace.queries import YAHOO
from streamlab.lab.figures.datatrace.shared import facts
from streamlab.lab.figures.datatrace.smart_home import SMART_HOME

FIGURES = (YAHOO, SMART_HOME)

__all__ = ["FIGURES", "facts"]
