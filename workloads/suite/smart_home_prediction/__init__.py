"""Smart-home prediction: predicts the next ten minutes' consumption of device types by a tree each."""

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
from streamlab.workloads.model import Parameter, Params
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
FORMS: Forms = {TYPED: typed.program, HANDCRAFTED: handcrafted.program}
OUTPUT = output_per_key("prediction", key_field="device")


def arguments(query: Params) -> dict[str, object]:
    """Return the arguments of the program and its oracle."""
    return {**parameters_without_form(query), "tree": read_tree()}


WORKLOAD = declare_power_workload(
    name="smart_home_prediction",
    title="Consumption of types of devices in the next ten minutes, predicted for each second",
    paper="Data-Trace Types, section 6 and figure 5",
    query=PARAMETERS,
    # The sum of one second is limited; a minute adds only 60 averages.
    bind=bind_arguments(
        FORMS, oracle, OUTPUT, arguments, limit=lambda **_: load_limit("device", 1)
    ),
)
