"""What the workloads on tweets declare alike: an aggregate for each key, over sliding windows."""

from collections.abc import Callable, Mapping

from workloads.inputs.tweets.generate import PARAMETERS, generate, keys, streams
from workloads.inputs.tweets.schema import INPUT
from workloads.model import Bound, OutputType, Parameter, Params, Workload


def window_parameters(wa_ms: int, ws_ms: int) -> dict[str, Parameter]:
    """Return the query parameters of the windows, with these defaults in ms of event time."""
    return {
        "wa_ms": Parameter(default=wa_ms, help="window advance (event time)", minimum=1),
        "ws_ms": Parameter(default=ws_ms, help="window size (event time)", minimum=1),
    }


def for_each_key(kind: str, key_field: str) -> OutputType:
    """Return the type of outputs that leave by time and depend on those of their key."""
    return OutputType(
        kinds=(kind,), depends=lambda a, b: a.key == b.key, key_field=key_field, sorted=True
    )


def on_tweets(
    *,
    name: str,
    title: str,
    paper: str,
    query: Mapping[str, Parameter],
    bind: Callable[[Params], Bound],
) -> Workload:
    """Return a workload that takes tweets; its arguments are as in `Workload`."""
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
    )
