"""What the workloads on power readings declare alike."""

from collections.abc import Callable, Mapping

from workloads.inputs.forms import FORM
from workloads.inputs.power_readings.generate import PARAMETERS, generate, keys, streams
from workloads.inputs.power_readings.schema import INPUT
from workloads.model import (
    Bound,
    OutputType,
    Parameter,
    Params,
    Workload,
)

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


def on_power_readings(
    *,
    name: str,
    title: str,
    paper: str,
    query: Mapping[str, Parameter],
    bind: Callable[[Params], Bound],
) -> Workload:
    """Return a workload that takes power readings; its arguments are as in `Workload`."""
    default = bind({name: parameter.default for name, parameter in query.items()})
    return Workload(
        name=name,
        title=title,
        paper=paper,
        program=default.program,
        output=default.output,
        parameters=PARAMETERS,
        keys=keys,
        streams=streams,
        generate=generate,
        oracle=default.oracle,
        query=query,
        bind=bind,
        input=INPUT,
        small={"plugs": 12, "device_types": 3, "gaps": 0.2, "gap_s": 20},
    )


def for_each(kind: str, key_field: str) -> OutputType:
    """Return the type of outputs that leave at markers, and depend on those of their key."""
    return OutputType(
        kinds=(kind,), depends=lambda a, b: a.key == b.key, key_field=key_field, sorted=True
    )
