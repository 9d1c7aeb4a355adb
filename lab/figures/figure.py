"""Defines figures: experiments in stages, and functions that judge and draw their results.

A stage may depend on the rates of earlier stages. Every stage is an ordinary run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tomli_w

from streamlab.json_value import JsonObject, JsonValue, json_list, json_object
from streamlab.lab.errors import FigureError
from streamlab.lab.figures.options import Options, stamp
from streamlab.lab.figures.verdict import Claim
from streamlab.results.store import Run
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.registry import workload

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Runs = Sequence[Run]
Tree = JsonObject
"""A matrix as TOML values."""
_GENERATED = ("events", "params", "seed")
"""Keys of a generated input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A stage's experiment: a matrix as TOML values, and patterns that select cells by id."""

    tree: Tree
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureStage:
    """One run of a figure.

    `plan` takes the options and the finished runs of earlier stages. It raises FigureError if the
    runs lack numbers that the plan needs.
    """

    name: str
    about: str
    plan: Callable[[Options, Runs], Plan]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a figure.

    Attributes:
        claims: the paper's claims, judged.
        notes: differences from the paper's experiment; also on the drawing.
        numbers: the drawn numbers, as JSON values.
        draw: returns the canvas with notes and published marks; it imports matplotlib.
    """

    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    numbers: JsonObject
    draw: Callable[[], "Canvas"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure or table of a paper.

    Attributes:
        id: `<paper>:<number>`.
        title: a title of one line.
        shows: quantities and series.
        needs: required workloads, and engines as `engine/variant`.
        stages: the figure's runs.
        outcome: judges the runs and prepares the drawing.
        scale: returns a run's lengths (inputs, phases, windows) as a share of the paper's; None if the figure has
            its own lengths.
    """

    id: str
    title: str
    shows: str
    needs: tuple[str, ...]
    stages: tuple[FigureStage, ...]
    outcome: Callable[[Options, Runs], Outcome]
    scale: Callable[[Options], float] | None = None

    @property
    def slug(self) -> str:
        """The id in a form for file names."""
        return self.id.replace(":", "-")

    def lengths(self, options: Options) -> str:
        """Return the scale of a run's inputs in words."""
        share = options.scale if self.scale is None else self.scale(options)
        if share is None:
            return "quick lengths" if options.quick else "usual lengths"
        return f"scale {share:g}"

    def text(self, stage: FigureStage, plan: Plan, options: Options) -> str:
        """Return the matrix of a stage as TOML; it begins with the stamp of figure, stage and options.

        Raises:
            FigureError: no workload of the figure reads the chosen dataset.
            DatasetError: the catalogue has no such dataset.
        """
        run = {"name": f"{self.slug}-{stage.name}"} | dict(json_object(plan.tree.get("run")))
        if options.cores_within_ns is not None:
            run["cores_within_ns"] = options.cores_within_ns
        tree = {"run": run} | {key: value for key, value in plan.tree.items() if key != "run"}
        if options.dataset is not None:
            tree["workload"] = self._replace_inputs(options.dataset, plan.tree["workload"])
        return stamp(self.id, stage.name, options) + tomli_w.dumps(tree)

    def _replace_inputs(self, dataset: str, value: JsonValue) -> list[JsonObject]:
        """Return the `[[workload]]` tables; a dataset replaces the generated input of its workloads."""
        source = Catalog.default().get(dataset).workload
        tables = [json_object(table) for table in json_list(value)]
        inputs = [workload(str(table["name"])).input_name for table in tables]
        if source not in inputs:
            raise FigureError(
                f"dataset {dataset} is the input of {source}, and {self.id} reads "
                f"{', '.join(dict.fromkeys(inputs))}; choose another dataset (`lab data list`)"
            )
        return [
            {key: value for key, value in table.items() if key not in _GENERATED}
            | {"dataset": dataset, "label": table.get("label", "")}
            if input_name == source
            else table
            for table, input_name in zip(tables, inputs, strict=True)
        ]
