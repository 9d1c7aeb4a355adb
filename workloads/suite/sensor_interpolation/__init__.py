"""Sensor interpolation: averages each plug's load so far, every 10 s, with interpolated readings."""

from functools import partial

from streamlab.workloads.inputs.power_readings.declaration import (
    QUERY,
    declare_power_workload,
    load_limit,
)
from streamlab.workloads.inputs.query_workload import choose_form, output_per_key
from streamlab.workloads.model import Bound, Parameter, Params
from streamlab.workloads.suite.sensor_interpolation import handcrafted, typed
from streamlab.workloads.suite.sensor_interpolation.oracle import oracle

PARAMETERS = QUERY | {
    "most_watts": Parameter(
        default=3680,
        help="readings above this are faults and ignored; the default is an outlet's 16 A at 230 V",
        minimum=0,
    ),
}
ARGUMENTS = ("markers_s", "longest_gap_s", "most_watts")
OUTPUT = output_per_key("average", key_field="plug")


def bind(query: Params) -> Bound:
    """Return the program and its oracle for query parameters."""
    markers_s, longest_gap_s, most_watts = (int(query[name]) for name in ARGUMENTS)
    make = choose_form(query, typed=typed.program, handcrafted=handcrafted.program)
    return Bound(
        program=make(markers_s, longest_gap_s, most_watts),
        output=OUTPUT,
        oracle=partial(
            oracle, markers_s=markers_s, longest_gap_s=longest_gap_s, most_watts=most_watts
        ),
        limits=(load_limit("plug", longest_gap_s, most_watts),),
    )


WORKLOAD = declare_power_workload(
    name="sensor_interpolation",
    title="The average load of each plug so far, over readings filled in by lines, every 10 s",
    paper="Data-Trace Types, section 2 and example 4.1",
    query=PARAMETERS,
    bind=bind,
)
