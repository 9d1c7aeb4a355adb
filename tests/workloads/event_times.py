"""The workloads of the suite that have event times, so that they run at full speed and have one right answer."""

from streamlab.workloads import registry
from streamlab.workloads.model.operators.program import arrival_tick_ns


def names() -> list[str]:
    """Return the names of the workloads whose rows have the times of the input, not of their arrival."""
    found = registry.names()
    return [n for n in found if arrival_tick_ns(registry.workload(n).program) is None]
