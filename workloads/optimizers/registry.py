"""Finds optimizers through the entry-point group `lab.optimizers`.

Any package may install one, so errors while it is loaded or called name that optimizer.
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
_WITHOUT_NODES = ("balanced", "by-stream", "cost", "leaf-per-stream")
"""The lab's optimizers that ignore where streams arrive."""


def names() -> tuple[str, ...]:
    """Return the names of all installed optimizers."""
    return tuple(sorted(point.name for point in find_entry_points(GROUP)))


def optimizer(name: str) -> Optimizer:
    """Import and return the optimizer of this name.

    Raises:
        ModelError: no optimizer has this name, or it cannot be loaded or is not callable.
    """
    points = [point for point in find_entry_points(GROUP) if point.name == name]
    if not points:
        raise ModelError(
            f"no optimizer {name!r}; {suggest_names(name, names(), 'lab plan --help')}"
        )
    where = f"optimizer {name!r} ({points[0].value})"
    try:
        loaded: Optimizer = points[0].load()
    except (Exception, SystemExit) as error:
        raise ModelError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(loaded):
        raise ModelError(f"{where} is a {type(loaded).__name__}, not a function of a PlanRequest")
    return loaded


def _check_nodes(name: str, request: PlanRequest) -> None:
    """Raise PlanError if the optimizer ignores the request's nodes, or if they do not fit its streams and workers."""
    nodes, streams = request.nodes, request.streams
    if not nodes:
        return
    if name in _WITHOUT_NODES:
        raise PlanError(
            f"optimizer {name!r} does not use nodes; use appendix-b, or remove the nodes"
        )
    if len(nodes) != len(streams):
        raise PlanError(
            f"{len(nodes)} nodes are given for {len(streams)} streams; give the worker where each "
            "stream arrives"
        )
    if max(nodes) >= request.workers or min(nodes) < 0:
        raise PlanError(
            f"nodes are {', '.join(map(str, nodes))}; each must be a worker from 0 to "
            f"{request.workers - 1}"
        )


def choose(name: str, request: PlanRequest) -> Choice:
    """Run an optimizer and check that its plan is valid for at most `request.workers` workers.

    Raises:
        ModelError: no optimizer has this name, or it cannot be loaded.
        PlanError: the request cannot be planned, or the plan is not valid.
    """
    check_arguments(request.program, request.alphabet, request.streams, request.workers)
    _check_nodes(name, request)
    choice = optimizer(name)(request)
    if not isinstance(choice, Choice) or not isinstance(choice.plan, Plan):
        raise PlanError(
            f"optimizer {name!r} returned a {type(choice).__name__}; expected a Choice with a Plan"
        )
    if choice.plan.workers > request.workers:
        raise PlanError(
            f"optimizer {name!r} made a plan for {choice.plan.workers} workers; "
            f"at most {request.workers} are allowed"
        )
    check_plan(choice.plan, request.streams)
    return choice
