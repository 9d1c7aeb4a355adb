"""What the workloads on sales and on clicks declare alike."""

from collections.abc import Callable, Mapping
from typing import Protocol

from workloads.model import Bound, Columns, OutputType, Parameter, Params, StreamSpec, Workload

STRICT = OutputType(kinds=("row",), depends=lambda a, b: True)
"""A strict sequence: each row depends on all before it."""

Bind = Callable[[Params], Bound]


class Generator(Protocol):
    """A module that generates an input: `store_sales` or `web_clickstreams`."""

    INPUT: str
    PARAMETERS: dict[str, Parameter]

    def keys(self, params: Params) -> int:
        """Return the number of keys."""

    def streams(self, params: Params, events: int) -> tuple[StreamSpec, ...]:
        """Return the streams."""

    def generate(
        self,
        params: Params,
        seed: int,
        specs: tuple[StreamSpec, ...],
        index: int,
        begin: int,
        end: int,
    ) -> Columns:
        """Return rows of a stream."""


def on_retail(
    input_of: Generator,
    *,
    name: str,
    title: str,
    paper: str,
    query: Mapping[str, Parameter],
    bind: Bind,
    small: Params,
    small_events: int = 0,
) -> Workload:
    """Return a workload that takes what a generator makes; the others are as in `Workload`."""
    default = bind({name: parameter.default for name, parameter in query.items()})
    return Workload(
        name=name,
        title=title,
        paper=paper,
        program=default.program,
        output=default.output,
        parameters=input_of.PARAMETERS,
        keys=input_of.keys,
        streams=input_of.streams,
        generate=input_of.generate,
        oracle=default.oracle,
        query=query,
        bind=bind,
        input=input_of.INPUT,
        small=small,
        small_events=small_events,
    )
