"""What a figure is to the lab: experiments in stages, and how to judge and draw what they gave.

A later stage may depend on the rates that an earlier one found. Every stage is an ordinary run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import tomli_w

from streamlab.lab.figures.options import Options, stamp
from streamlab.lab.figures.verdict import Claim
from streamlab.results.store import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Runs = Sequence[Run]
Tree = Mapping[str, Any]
"""A matrix as TOML values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one stage runs: a matrix as a tree of TOML values, and patterns on its cells' ids."""

    tree: Tree
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureStage:
    """One run of a figure; `plan` is given the options and the finished runs before it.

    `plan` raises FigureError where the earlier runs lack what it needs.
    """

    name: str
    about: str
    plan: Callable[[Options, Runs], Plan]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a figure.

    Attributes:
        claims: each of the paper's, judged.
        notes: what sets the experiment apart from the paper's; also on the figure.
        numbers: what is drawn, as JSON values.
        draw: returns the canvas, notes and published marks included; matplotlib is imported there.
    """

    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    numbers: Mapping[str, Any]
    draw: Callable[[], "Canvas"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure, or table, of a paper.

    Attributes:
        id: `<paper>:<number>`.
        title: what it is, in a line.
        shows: quantities and series.
        needs: workloads, and engines as `engine/variant`, without which there is no figure.
        stages: its runs.
        outcome: judges the runs and prepares the drawing.
        options: those of `lab figure` that it takes.
        scale: the share of the paper's lengths that a run has; None: lengths are the figure's own.
    """

    id: str
    title: str
    shows: str
    needs: tuple[str, ...]
    stages: tuple[FigureStage, ...]
    outcome: Callable[[Options, Runs], Outcome]
    options: tuple[str, ...] = field(default=("workers", "repetitions", "scale", "quick"))
    scale: Callable[[Options], float] | None = None

    @property
    def slug(self) -> str:
        """The id as part of a file name."""
        return self.id.replace(":", "-")

    def lengths(self, options: Options) -> str:
        """Return how long a run's inputs are, in words."""
        share = options.scale if self.scale is None else self.scale(options)
        if share is None:
            return "quick lengths" if options.quick else "usual lengths"
        return f"scale {share:g}"

    def text(self, stage: FigureStage, plan: Plan, options: Options) -> str:
        """Return the matrix of a stage as TOML, stamped."""
        named = {"name": f"{self.slug}-{stage.name}"} | dict(plan.tree.get("run", {}))
        if options.cores_within_ns is not None:
            named["cores_within_ns"] = options.cores_within_ns
        tree = {"run": named} | {key: value for key, value in plan.tree.items() if key != "run"}
        return stamp(self.id, stage.name, options) + tomli_w.dumps(tree)
