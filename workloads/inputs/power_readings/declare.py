"""What the workloads on power readings declare alike."""

from collections.abc import Callable, Mapping

from workloads.inputs.power_readings.generate import PARAMETERS, generate, keys, streams
from workloads.inputs.power_readings.schema import INPUT
from workloads.model import (
    Bound,
    ModelError,
    OutputType,
    Parameter,
    Params,
    Program,
    Workload,
)

TYPED, HANDCRAFTED = "typed", "handcrafted"

QUERY = {
    "form": Parameter(
        default=TYPED,
        help="typed: a typed dataflow graph; handcrafted: operators O+ that give the same answer",
    ),
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


def of_form(
    query: Params, typed: Callable[..., Program], handcrafted: Callable[..., Program]
) -> Callable[..., Program]:
    """Return what makes the program of the form that query parameters ask for.

    Raises:
        ModelError: there is no such form.
    """
    forms = {TYPED: typed, HANDCRAFTED: handcrafted}
    form = str(query["form"])
    if form not in forms:
        raise ModelError(f"query parameter form is {form!r}; give {' or '.join(forms)}")
    return forms[form]


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
