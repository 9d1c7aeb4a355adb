"""Draws the lab's own figures, which belong to its targets and to no paper."""

from streamlab.lab.figures.own import barriers
from streamlab.reports.published import Facts

__all__ = ["FIGURES", "facts"]

FIGURES = (barriers.FIGURE,)


def facts() -> Facts:
    """Return no published numbers: these figures have none."""
    return Facts(())
