"""Sensor interpolation: averages each plug's load so far, every 10 s, with interpolated readings.

It also has example 4.1 of the paper: `table_plugs` joins a table of places and filters by it, and
`aggregate=maximum` gives the greatest of the blocks' averages.
"""

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
    parameters_without_form,
)
from streamlab.workloads.model import ModelError, Parameter, Params
from streamlab.workloads.suite.sensor_interpolation import handcrafted, typed
from streamlab.workloads.suite.sensor_interpolation.oracle import oracle
from streamlab.workloads.suite.sensor_interpolation.places import PLACE_KINDS

AVERAGE, MAXIMUM = "average", "maximum"

PARAMETERS = QUERY | {
    "most_watts": Parameter(
        default=3680,
        help="readings above this are faults and ignored; the default is an outlet's 16 A at 230 V",
        minimum=0,
    ),
    "table_plugs": Parameter(
        default=0,
        help="plugs in the table of places; readings of other plugs are ignored; 0 means no table",
        minimum=0,
        maximum=10**7,
    ),
    "place_kinds": Parameter(
        default=PLACE_KINDS // 2,
        help=f"number of kinds of places that are retained, of {PLACE_KINDS} in the table",
        minimum=0,
        maximum=PLACE_KINDS,
    ),
    "aggregate": Parameter(
        default=AVERAGE,
        help=f"{AVERAGE}: of all values so far; {MAXIMUM}: the greatest average of a block so far",
    ),
}
FORMS: Forms = {TYPED: typed.program, HANDCRAFTED: handcrafted.program}
OUTPUT = output_per_key("average", key_field="plug")


def arguments(query: Params) -> dict[str, object]:
    """Return the arguments of the program and its oracle."""
    values = {**parameters_without_form(query)}
    aggregate = values.pop("aggregate")
    if aggregate not in (AVERAGE, MAXIMUM):
        raise ModelError(f"query parameter aggregate is {aggregate!r}; give {AVERAGE} or {MAXIMUM}")
    return {**values, "maximum": aggregate == MAXIMUM}


WORKLOAD = declare_power_workload(
    name="sensor_interpolation",
    title="The average load of each plug so far, over readings filled in by lines, every 10 s",
    paper="Data-Trace Types, section 2 and example 4.1",
    query=PARAMETERS,
    bind=bind_arguments(
        FORMS,
        oracle,
        OUTPUT,
        arguments,
        limit=lambda longest_gap_s, most_watts, **_: load_limit("plug", longest_gap_s, most_watts),
    ),
)
