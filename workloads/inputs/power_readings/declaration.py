"""Declares the common parts of workloads on power readings: query parameters and limits."""

from functools import partial
from typing import Any

import numpy as np

from streamlab.workloads.inputs.power_readings import generate
from streamlab.workloads.inputs.power_readings.schema import INPUT
from streamlab.workloads.inputs.query_workload import FORM, declare_workload
from streamlab.workloads.model import Parameter
from streamlab.workloads.model.streams.limits import INT64, IntArray, Limit, group_by_field

QUERY = FORM | {
    "markers_s": Parameter(
        default=10, help="event time from a marker to the next", minimum=1, maximum=3600
    ),
    "longest_gap_s": Parameter(
        default=60,
        help="longest time between two readings of a plug that is interpolated",
        minimum=1,
        maximum=3600,
    ),
}
"""Query parameters of all workloads on power readings."""


def load_limit(group_field: str, values: int, most_watts: int = INT64[1]) -> Limit:
    """Return the limit on the watts that are added to one sum.

    A reading of w watts is an end of two interpolated lines. Each adds to the sum up to `values` values of
    at most 1,000 |w| milliwatts. To round an average, its sum is doubled and the count is added.

    Args:
        group_field: the field that groups readings into sums.
        values: maximum number of values of a line in one sum.
        most_watts: readings above this are ignored.
    """

    def terms(events: Any) -> IntArray:
        watts = np.asarray(events.payload["watts"])
        return np.where(watts <= most_watts, watts, 0)

    most = INT64[1] // (8 * 1000 * values)
    return Limit(
        field="watts",
        quantity=f"the sum of the readings of its {group_field}",
        remedy="give watts of a coarser unit, or a shorter part of the input",
        lowest=-most,
        highest=most,
        reads=(group_field,),
        groups=group_by_field(group_field),
        terms=terms,
    )


declare_power_workload = partial(
    declare_workload,
    generate,
    input=INPUT,
    small={"plugs": 12, "device_types": 3, "gaps": 0.2, "gap_s": 20},
)
"""Declares a workload on power readings."""
