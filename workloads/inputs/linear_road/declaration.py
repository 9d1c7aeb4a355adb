"""Declares workloads on Linear Road's records."""

from collections.abc import Callable

from streamlab.workloads.inputs.linear_road.generate import PARAMETERS, generate, keys, streams
from streamlab.workloads.inputs.linear_road.schema import INPUT
from streamlab.workloads.inputs.query_workload import output_per_key
from streamlab.workloads.model import Columns, Input, OutputType, Pipeline, Workload

_REPORT = output_per_key("report", key_field="vid")


def declare_linear_road_workload(
    *,
    name: str,
    title: str,
    paper: str,
    program: Pipeline,
    oracle: Callable[[Input], Columns],
    output: OutputType = _REPORT,
) -> Workload:
    """Return a workload on Linear Road's records; the arguments are as in `Workload`.

    By default, outputs leave in time order, and outputs of one vehicle keep their order. Ties
    between vehicles are free, so each instance of an operator may process its own vehicles.
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
