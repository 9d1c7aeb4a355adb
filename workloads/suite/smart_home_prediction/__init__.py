"""Smart-home prediction: predicts the next ten minutes' consumption of device types by a tree."""

from functools import partial

from streamlab.workloads.inputs.power_readings.declaration import (
    QUERY,
    declare_power_workload,
    load_limit,
)
from streamlab.workloads.inputs.query_workload import choose_form, output_per_key
from streamlab.workloads.model import Bound, Parameter, Params
from streamlab.workloads.suite.smart_home_prediction import handcrafted, typed
from streamlab.workloads.suite.smart_home_prediction.oracle import oracle
from streamlab.workloads.suite.smart_home_prediction.tree import DEEPEST, read_tree

PARAMETERS = QUERY | {
    "device_types": Parameter(
        default=16,
        help="types of devices that are retained: those with numbers below this",
        minimum=1,
        maximum=2**15,
    ),
    "depth": Parameter(
        default=DEEPEST,
        help="maximum number of comparisons from the root of the tree; sets the cost",
        minimum=0,
        maximum=DEEPEST,
    ),
}
ARGUMENTS = ("markers_s", "longest_gap_s", "device_types", "depth")
OUTPUT = output_per_key("prediction", key_field="device")


def bind(query: Params) -> Bound:
    """Return the program and its oracle for query parameters."""
    markers_s, longest_gap_s, device_types, depth = (int(query[name]) for name in ARGUMENTS)
    tree = read_tree()
    make = choose_form(query, typed=typed.program, handcrafted=handcrafted.program)
    return Bound(
        program=make(markers_s, longest_gap_s, device_types, tree, depth),
        output=OUTPUT,
        oracle=partial(
            oracle,
            markers_s=markers_s,
            longest_gap_s=longest_gap_s,
            device_types=device_types,
            tree=tree,
            depth=depth,
        ),
        limits=(load_limit("device", 1),),  # a sum of one second; a minute adds only 60 averages
    )


WORKLOAD = declare_power_workload(
    name="smart_home_prediction",
    title="Consumption of types of devices in the next ten minutes, predicted for each second",
    paper="Data-Trace Types, section 6 and figure 5",
    query=PARAMETERS,
    bind=bind,
)
