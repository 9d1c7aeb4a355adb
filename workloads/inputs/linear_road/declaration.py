"""What the workloads on Linear Road's records declare alike."""

from collections.abc import Callable

from streamlab.workloads.inputs.linear_road.generate import PARAMETERS, generate, keys, streams
from streamlab.workloads.inputs.linear_road.schema import INPUT
from streamlab.workloads.inputs.query_workload import for_each_key
from streamlab.workloads.model import Columns, Input, OutputType, Pipeline, Workload

_REPORT = for_each_key("report", key_field="vid")


def on_linear_road(
    *,
    name: str,
    title: str,
    paper: str,
    program: Pipeline,
    oracle: Callable[[Input], Columns],
    output: OutputType = _REPORT,
) -> Workload:
    """Return a workload that takes Linear Road's records; its arguments are as in `Workload`.

    By default, what it forwards leaves in order of time. That of one vehicle depends on each other;
    ties between vehicles are free, so that instances of an operator may each have their vehicles.
    """
    return Workload(
        name=name,
        title=title,
        paper=paper,
        program=program,
        output=output,
        parameters=PARAMETERS,
        keys=keys,
        streams=streams,
        generate=generate,
        oracle=oracle,
        input=INPUT,
        small={"vehicles": 40},
    )
