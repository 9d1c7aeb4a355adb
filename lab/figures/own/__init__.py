"""The lab's own figures: what no paper has, and its targets speak of."""

from streamlab.lab.figures.own import barriers
from streamlab.reports.published import Facts

__all__ = ["FIGURES", "facts"]

FIGURES = (barriers.FIGURE,)


def facts() -> Facts:
    """Return what was published: nothing."""
    return Facts(())
