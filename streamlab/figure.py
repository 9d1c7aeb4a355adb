"""Collects the public API for authors of figures: see docs/extending.md.

Write a module for each paper: the tuple FIGURES lists its figures, and `facts()` returns the published numbers.
Register the module in the entry-point group `lab.figures`, under the name of the paper.
"""

from streamlab.lab.errors import FigureError
from streamlab.lab.figures.experiment import (
    beyond_note,
    engine,
    numbers,
    plain,
    points,
    published_claim,
    quick_note,
    run_table,
    scale_note,
)
from streamlab.lab.figures.figure import Figure, FigureStage, Outcome, Plan, Runs
from streamlab.lab.figures.judge import PublishedClaim, judge
from streamlab.lab.figures.measurements import (
    Series,
    column,
    counter,
    machine,
    quotient,
    series,
    troubles,
)
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import (
    Need,
    latencies,
    outputs,
    several_workers,
    trials,
    two_degrees,
)
from streamlab.lab.figures.systems import System
from streamlab.reports.figures.paper import Layout, Line, Mark, Panel, draw
from streamlab.reports.published import Fact, Facts

__all__ = [
    "Fact",
    "Facts",
    "Figure",
    "FigureError",
    "FigureStage",
    "Layout",
    "Line",
    "Mark",
    "Need",
    "Options",
    "Outcome",
    "Panel",
    "Plan",
    "PublishedClaim",
    "Runs",
    "Series",
    "System",
    "beyond_note",
    "column",
    "counter",
    "draw",
    "engine",
    "judge",
    "latencies",
    "machine",
    "numbers",
    "outputs",
    "plain",
    "points",
    "published_claim",
    "quick_note",
    "quotient",
    "run_table",
    "scale_note",
    "series",
    "several_workers",
    "trials",
    "troubles",
    "two_degrees",
]
