"""What the workloads on power readings declare alike."""

from functools import partial

from workloads.inputs.declare import declared
from workloads.inputs.forms import FORM
from workloads.inputs.power_readings import generate
from workloads.inputs.power_readings.schema import INPUT
from workloads.model import Parameter

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


on_power_readings = partial(
    declared,
    generate,
    input=INPUT,
    small={"plugs": 12, "device_types": 3, "gaps": 0.2, "gap_s": 20},
)
"""Declares a workload that takes power readings."""
