"""What the workloads on sales and on clicks declare alike."""

from collections.abc import Callable, Mapping

from workloads.model import Bound, OutputType, Parameter, Params, Workload
from workloads.retail import store_sales, web_clickstreams
from workloads.retail.schema import STORE_SALES, WEB_CLICKSTREAMS

STRICT = OutputType(kinds=("row",), depends=lambda a, b: True)
"""A strict sequence: each row depends on all before it."""

Bind = Callable[[Params], Bound]


def on_sales(
    *,
    name: str,
    title: str,
    paper: str,
    query: Mapping[str, Parameter],
    bind: Bind,
    small: Params,
    small_events: int = 0,
) -> Workload:
    """Return a workload that takes sales in stores; its arguments are as in `Workload`."""
    default = bind({name: parameter.default for name, parameter in query.items()})
    return Workload(
        name=name,
        title=title,
        paper=paper,
        program=default.program,
        output=default.output,
        parameters=store_sales.PARAMETERS,
        keys=store_sales.keys,
        streams=store_sales.streams,
        generate=store_sales.generate,
        oracle=default.oracle,
        query=query,
        bind=bind,
        input=STORE_SALES,
        small=small,
        small_events=small_events,
    )


def on_clicks(
    *,
    name: str,
    title: str,
    paper: str,
    query: Mapping[str, Parameter],
    bind: Bind,
    small: Params,
    small_events: int = 0,
) -> Workload:
    """Return a workload that takes clicks on the web; its arguments are as in `Workload`."""
    default = bind({name: parameter.default for name, parameter in query.items()})
    return Workload(
        name=name,
        title=title,
        paper=paper,
        program=default.program,
        output=default.output,
        parameters=web_clickstreams.PARAMETERS,
        keys=web_clickstreams.keys,
        streams=web_clickstreams.streams,
        generate=web_clickstreams.generate,
        oracle=default.oracle,
        query=query,
        bind=bind,
        input=WEB_CLICKSTREAMS,
        small=small,
        small_events=small_events,
    )
