"""Smart-home prediction: predicts the next ten minutes' consumption of each device type by a regression tree."""

from dataclasses import replace

import numpy as np

from streamlab.workloads.inputs.power_readings.declaration import (
    QUERY,
    declare_power_workload,
    load_limit,
)
from streamlab.workloads.inputs.power_readings.schema import DEVICE_TYPES
from streamlab.workloads.inputs.query_workload import (
    HANDCRAFTED,
    TYPED,
    Forms,
    bind_arguments,
    output_per_key,
    parameters_without_form,
)
from streamlab.workloads.model import Parameter, Params
from streamlab.workloads.model.streams.limits import Limit
from streamlab.workloads.suite.smart_home_prediction import handcrafted, typed
from streamlab.workloads.suite.smart_home_prediction.oracle import oracle
from streamlab.workloads.suite.smart_home_prediction.tree import DEEPEST, read_tree

PARAMETERS = QUERY | {
    "device_types": Parameter(
        default=16,
        help="number of retained types of devices; types with numbers from this on are ignored",
        minimum=1,
        maximum=2**15,
    ),
    "table_plugs": Parameter(
        default=0,
        help="plugs in the table of devices; readings of other plugs are ignored; with 0, "
        "readings state the type of their device",
        minimum=0,
        maximum=10**7,
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


def limit(table_plugs: int, **_: object) -> Limit:
    """Return the limit on the sum of one second of a type; a minute adds only 60 averages."""
    if not table_plugs:
        return load_limit("device", 1)
    return replace(
        load_limit("plug", 1),
        quantity="the sum of the readings of its type of device",
        groups=lambda events: np.asarray(events.payload["plug"], np.int64) % DEVICE_TYPES,
    )


WORKLOAD = declare_power_workload(
    name="smart_home_prediction",
    title="Consumption of types of devices in the next ten minutes, predicted for each second",
    paper="Data-Trace Types, section 6 and figure 5",
    query=PARAMETERS,
    bind=bind_arguments(FORMS, oracle, OUTPUT, arguments, limit=limit),
)
