"""What the workloads on power readings declare alike."""

from functools import partial
from typing import Any

import numpy as np

from streamlab.workloads.inputs.forms import FORM
from streamlab.workloads.inputs.power_readings import generate
from streamlab.workloads.inputs.power_readings.schema import INPUT
from streamlab.workloads.inputs.query_workload import declared
from streamlab.workloads.model import Parameter
from streamlab.workloads.model.streams.limits import INT64, IntArray, Limit, group_by_field

QUERY = FORM | {
    "markers_s": Parameter(
        default=10, help="event time from a marker to the next", minimum=1, maximum=3600
    ),
    "longest_gap_s": Parameter(
        default=60,
        help="longest time between two readings of a plug that is filled by a line",
        minimum=1,
        maximum=3600,
    ),
}
"""Query parameters of all workloads on it."""


def load_limit(by: str, values: int, most_watts: int = INT64[1]) -> Limit:
    """Return the limit on the watts that are added up.

    A reading of w watts is an end of two lines, each of up to `values` values of at most 1,000 |w|
    milliwatts. An average takes twice their sum, and adds their count to round.

    Args:
        by: the field of the readings that are added to one sum.
        values: most values of a line that one sum has.
        most_watts: readings above it are left out.
    """

    def counted(events: Any) -> IntArray:
        watts = np.asarray(events.payload["watts"])
        return np.where(watts <= most_watts, watts, 0)

    most = INT64[1] // (8 * 1000 * values)
    return Limit(
        field="watts",
        what=f"the sum of the readings of its {by}",
        remedy="give watts of a coarser unit, or a shorter part of the input",
        lowest=-most,
        highest=most,
        reads=(by,),
        groups=group_by_field(by),
        terms=counted,
    )


on_power_readings = partial(
    declared,
    generate,
    input=INPUT,
    small={"plugs": 12, "device_types": 3, "gaps": 0.2, "gap_s": 20},
)
"""Declares a workload that takes power readings."""
