"""What Flink's parallelism costs on each workload: the platform-independence properties, declared.

As in the DGS paper, section 4 and table 1.
"""

from collections.abc import Mapping

from streamlab.engines.protocol import Property

_SETTING = Property(holds=True, why="the parallelism is a setting of the job; no program names it")
_BY_HASH = Property(holds=True, why="Flink assigns keys to tasks by its own hash")
_CONTRACT = Property(holds=True, why="operators have no side effects but the sink's")
_PIP2 = {
    "event_window": Property(
        holds=True, why="barriers are broadcast; which task has which values does not matter"
    ),
    "page_view_join": Property(
        holds=False,
        why="pages are labelled so that Flink's hash spreads them over tasks, as in the paper's "
        "programs; with the pages as they are two may meet on one task",
    ),
    "fraud_detection": Property(holds=True, why="one task has all events"),
}
_MANUAL = {
    "PIP1": Property(holds=False, why="the service is made for a number of leaves"),
    "PIP2": Property(holds=False, why="leaves and roots are called by the numbers of their tasks"),
    "PIP3": Property(
        holds=False,
        why="tasks wait for each other in a service that Flink knows nothing of; after a failure "
        "what was joined would be joined again",
    ),
}


def properties(workload: str, variant: str) -> Mapping[str, Property]:
    """Return PIP1, PIP2 and PIP3 of a workload's program."""
    if variant == "manual":
        return _MANUAL
    return {"PIP1": _SETTING, "PIP2": _PIP2.get(workload, _BY_HASH), "PIP3": _CONTRACT}
