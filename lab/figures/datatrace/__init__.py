"""Reproduces figures of Data-Trace Types for Distributed Stream Processing Systems (section 6)."""

from streamlab.lab.figures.datatrace.queries import FIGURES, facts

__all__ = ["FIGURES", "facts"]
