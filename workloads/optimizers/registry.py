"""Finds optimizers through the entry-point group `lab.optimizers`.

Anybody may install one, so whatever goes wrong while it is loaded or called is an error of that
optimizer.
"""

from streamlab.workloads.entry_points import find_entry_points
from streamlab.workloads.model.dgs.optimizer import check_arguments
from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.model.dgs.validity import check_plan
from streamlab.workloads.model.errors import ModelError, PlanError
from streamlab.workloads.name_suggestions import suggest_names
from streamlab.workloads.optimizers.request import Choice, Optimizer, PlanRequest

GROUP = "lab.optimizers"
DEFAULT = "by-stream"


def names() -> tuple[str, ...]:
    """Return the names of all installed optimizers."""
    return tuple(sorted(point.name for point in find_entry_points(GROUP)))


def optimizer(name: str) -> Optimizer:
    """Return the optimizer of that name; only this one is imported.

    Raises:
        ModelError: there is none, it cannot be loaded, or cannot be called.
    """
    found = [point for point in find_entry_points(GROUP) if point.name == name]
    if not found:
        raise ModelError(
            f"no optimizer {name!r}; {suggest_names(name, names(), 'lab plan --help')}"
        )
    where = f"optimizer {name!r} ({found[0].value})"
    try:
        loaded: Optimizer = found[0].load()
    except (Exception, SystemExit) as error:
        raise ModelError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(loaded):
        raise ModelError(f"{where} is a {type(loaded).__name__}, not a function of a PlanRequest")
    return loaded


def choose(name: str, request: PlanRequest) -> Choice:
    """Return the choice of the optimizer of that name, a valid plan for at most `workers` workers.

    Raises:
        ModelError: there is no such optimizer.
        PlanError: nothing can be planned, or the plan is not valid.
    """
    check_arguments(request.program, request.alphabet, request.streams, request.workers)
    choice = optimizer(name)(request)
    if not isinstance(choice, Choice) or not isinstance(choice.plan, Plan):
        raise PlanError(
            f"optimizer {name!r} gave a {type(choice).__name__}, not a Choice of a plan"
        )
    if choice.plan.workers > request.workers:
        raise PlanError(
            f"optimizer {name!r} made a plan for {choice.plan.workers} workers; "
            f"there are {request.workers}"
        )
    check_plan(choice.plan, request.streams)
    return choice
