"""Sensor interpolation: averages each plug's load so far, every 10 s, with interpolated readings."""

from streamlab.workloads.inputs.power_readings.declaration import (
    QUERY,
    declare_power_workload,
    load_limit,
)
from streamlab.workloads.inputs.query_workload import (
    HANDCRAFTED,
    TYPED,
    Forms,
    bind_arguments,
    output_per_key,
)
from streamlab.workloads.model import Parameter
from streamlab.workloads.suite.sensor_interpolation import handcrafted, typed
from streamlab.workloads.suite.sensor_interpolation.oracle import oracle

PARAMETERS = QUERY | {
    "most_watts": Parameter(
        default=3680,
        help="readings above this are faults and ignored; the default is an outlet's 16 A at 230 V",
        minimum=0,
    ),
}
FORMS: Forms = {TYPED: typed.program, HANDCRAFTED: handcrafted.program}
OUTPUT = output_per_key("average", key_field="plug")


WORKLOAD = declare_power_workload(
    name="sensor_interpolation",
    title="The average load of each plug so far, over readings filled in by lines, every 10 s",
    paper="Data-Trace Types, section 2 and example 4.1",
    query=PARAMETERS,
    bind=bind_arguments(
        FORMS,
        oracle,
        OUTPUT,
        limit=lambda longest_gap_s, most_watts, **_: load_limit("plug", longest_gap_s, most_watts),
    ),
)
