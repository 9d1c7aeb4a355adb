"""The figures of STRETCH: Virtual Shared-Nothing Parallelism (section 8, appendix F)."""

from lab.figures.stretch import counts, forward, scale_join

FIGURES = (counts.FIGURE, forward.FIGURE, scale_join.FIGURE)
