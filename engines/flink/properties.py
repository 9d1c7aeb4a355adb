"""Declares the platform-independence properties of Flink's programs (DGS paper, section 4 and table 1)."""

from collections.abc import Mapping

from streamlab.engines.protocol import Property

_SETTING = Property(holds=True, why="the parallelism is a setting of the job; no program names it")
_BY_HASH = Property(holds=True, why="Flink assigns keys to tasks by its own hash")
_CONTRACT = Property(holds=True, why="only the sink has side effects")
_PIP2 = {
    "event_window": Property(
        holds=True, why="barriers are broadcast; any task may process any value"
    ),
    "page_view_join": Property(
        holds=False,
        why="pages are labelled so that Flink's hash spreads them over tasks, as in the paper's "
        "programs; without labels two pages may share a task",
    ),
    "fraud_detection": Property(holds=True, why="one task has all events"),
}
_MANUAL = {
    "PIP1": Property(holds=False, why="the service is built for a number of leaves"),
    "PIP2": Property(holds=False, why="leaves and roots are named by their task numbers"),
    "PIP3": Property(
        holds=False,
        why="tasks wait for each other in a service outside Flink; after a failure, states would "
        "be joined twice",
    ),
}


def properties(workload: str, variant: str) -> Mapping[str, Property]:
    """Return PIP1, PIP2 and PIP3 of a workload's program."""
    if variant == "manual":
        return _MANUAL
    return {"PIP1": _SETTING, "PIP2": _PIP2.get(workload, _BY_HASH), "PIP3": _CONTRACT}
