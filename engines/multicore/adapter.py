"""Adapts the native core to the lab's engine protocol; each variant is a `Family` of runs."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

from streamlab.engines.base import BaseEngine
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.dataflow.run import DATAFLOW
from streamlab.engines.multicore.dgs.run import DGS
from streamlab.engines.multicore.joins.run import JOINS
from streamlab.engines.multicore.layers.run import LAYERS
from streamlab.engines.multicore.oplus.run import SN, SN_MAP, VSN
from streamlab.engines.multicore.ordered.run import ORDERED
from streamlab.engines.multicore.run import broker_run
from streamlab.engines.multicore.run.family import Family
from streamlab.engines.multicore.work_split import split_work, unresumable
from streamlab.engines.options import OptionError, check_options, options_of
from streamlab.engines.protocol import Prepared, Property, Task
from streamlab.engines.work_split import WorkSplit
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.default_folders import cache_folder
from streamlab.workloads.model import Dataflow, DGSProgram, Pipeline, Program, Query

FAMILIES: Mapping[str, Family] = {
    family.name: family for family in (DGS, VSN, SN, SN_MAP, *JOINS, ORDERED, LAYERS, DATAFLOW)
}
"""Families by variant name. The first family that runs a model is the model's default."""
_MODELS = (
    (DGSProgram, "a DGS program"),
    (Query, "a query of operators O+"),
    (Pipeline, "an ordered pipeline"),
    (Dataflow, "a typed dataflow graph"),
)
CEILING_EVENTS = 20_000_000
"""Events used to measure the generator's ceiling: about one second at batch 1."""


class MulticoreEngine(BaseEngine):
    """Runs programs of all models natively on one machine's cores."""

    name: ClassVar[str] = "multicore"
    known_variants = tuple(family.variant() for family in FAMILIES.values())

    def version(self) -> str:
        """Return the version of the lab, which includes the core."""
        return version("stream-lab")

    def kept_folders(self) -> Sequence[Path]:
        """Return the lab's cache folder, which stores compiled functions of programs."""
        return (cache_folder(),)

    def unsupported(self, task: Task) -> str | None:
        """Return why a task cannot run, or None."""
        if not 1 <= task.workers <= _core.MAX_WORKERS:
            return f"workers must be between 1 and {_core.MAX_WORKERS}, got {task.workers}"
        family = FAMILIES.get(task.variant)
        if family is None:
            return f"no variant {task.variant!r}; choose one of {', '.join(FAMILIES)}"
        if (reason := _check_model(task, family)) is not None:
            return reason
        if (reason := family.variant().lacks(task.workload) or task.lacks_load) is not None:
            return reason
        try:
            check_options(self, family.variant(), task.options)
        except OptionError as error:
            return str(error)
        options = options_of(task, family.options)
        if task.load is not None and not options.measure:
            return "measure = false works only without a load; remove the option or the load"
        reason = broker_run.refusal(task) if options.broker else None
        return reason or family.unsupported(task, options)

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return whether PIP1 to PIP3 hold; this depends only on the variant."""
        return FAMILIES[variant].properties

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Return the rate in events/s at which the generator feeds a reader that does no work."""
        duration_ns, _ = _core.try_generator(CEILING_EVENTS, batch, 0.0)
        return CEILING_EVENTS / duration_ns * 1e9

    def start(self, task: Task) -> Prepared:
        """Load the input, plan, compile, and start the threads.

        Raises:
            EngineError: the program does not compile, or its plan is invalid.
        """
        return FAMILIES[task.variant].prepare(task)

    def split_work(
        self, program: Program, dataset: Dataset, *, shares: int, partials: bool
    ) -> WorkSplit:
        """Split a program's work into shares, each of which a task runs with one worker."""
        return split_work(program, dataset, shares=shares, partials=partials)

    def unresumable(self, program: Program) -> str | None:
        """Return why a program cannot run on consecutive parts of its input, or None."""
        return unresumable(program)


def _check_model(task: Task, family: Family) -> str | None:
    """Return None if `family` runs the task's model; otherwise a message that names a suitable variant."""
    program = task.workload.program
    if isinstance(program, family.models):
        return None
    model, phrase = next(pair for pair in _MODELS if isinstance(program, pair[0]))
    default = next(name for name, other in FAMILIES.items() if model in other.models)
    return f"{task.workload.name} is {phrase}; use variants = ['{default}']"
