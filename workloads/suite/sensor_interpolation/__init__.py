"""The average load of each plug so far, every 10 s, over readings that were filled in."""

from functools import partial

from streamlab.workloads.inputs.forms import form_of
from streamlab.workloads.inputs.power_readings.declaration import (
    QUERY,
    load_limit,
    on_power_readings,
)
from streamlab.workloads.inputs.query_workload import for_each_key
from streamlab.workloads.model import Bound, Parameter, Params
from streamlab.workloads.suite.sensor_interpolation import handcrafted, typed
from streamlab.workloads.suite.sensor_interpolation.oracle import oracle

PARAMETERS = QUERY | {
    "most_watts": Parameter(
        default=3680,
        help="readings above are faults, and left out; an outlet of 16 A and 230 V gives no more",
        minimum=0,
    ),
}
WANTED = ("markers_s", "longest_gap_s", "most_watts")
OUTPUT = for_each_key("average", key_field="plug")


def bind(query: Params) -> Bound:
    """Return what is computed for these query parameters."""
    markers_s, longest_gap_s, most_watts = (int(query[name]) for name in WANTED)
    make = form_of(query, typed=typed.program, handcrafted=handcrafted.program)
    return Bound(
        program=make(markers_s, longest_gap_s, most_watts),
        output=OUTPUT,
        oracle=partial(
            oracle, markers_s=markers_s, longest_gap_s=longest_gap_s, most_watts=most_watts
        ),
        limits=(load_limit("plug", longest_gap_s, most_watts),),
    )


WORKLOAD = on_power_readings(
    name="sensor_interpolation",
    title="The average load of each plug so far, over readings filled in by lines, every 10 s",
    paper="Data-Trace Types, section 2 and example 4.1",
    query=PARAMETERS,
    bind=bind,
)
