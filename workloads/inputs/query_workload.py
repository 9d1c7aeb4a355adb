"""How workloads with query parameters are declared: a generator, and what is bound for a query."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from streamlab.workloads.model import (
    Block,
    Bound,
    OutputType,
    Parameter,
    Params,
    StreamSpec,
    Workload,
)


class Generator(Protocol):
    """A module that generates an input; what its functions do is said in `Workload`."""

    PARAMETERS: dict[str, Parameter]

    def keys(self, params: Params) -> int:
        """Return the number of keys."""

    def streams(self, params: Params, events: int) -> tuple[StreamSpec, ...]:
        """Return the streams."""

    def generate(
        self,
        params: Params,
        seed: int,
        streams: tuple[StreamSpec, ...],
        index: int,
        begin: int,
        end: int,
        /,
    ) -> Block:
        """Return rows of a stream."""


def declared(
    generator: Generator,
    *,
    name: str,
    title: str,
    paper: str,
    query: Mapping[str, Parameter],
    bind: Callable[[Params], Bound],
    input: str | None = None,
    small: Params | None = None,
    small_events: int = 0,
    unfit: Callable[[Params, Any], str] | None = None,
) -> Workload:
    """Return the workload that takes what a generator makes, bound to its query's defaults.

    The other arguments are as in `Workload`.
    """
    default = bind({name: parameter.default for name, parameter in query.items()})
    return Workload(
        name=name,
        title=title,
        paper=paper,
        program=default.program,
        output=default.output,
        oracle=default.oracle,
        limits=default.limits,
        parameters=generator.PARAMETERS,
        keys=generator.keys,
        streams=generator.streams,
        generate=generator.generate,
        query=query,
        bind=bind,
        input=input,
        small=small or {},
        small_events=small_events,
        unfit=unfit,
    )


def for_each_key(kind: str, key_field: str) -> OutputType:
    """Return the type of outputs that leave by time and depend on those of their key."""
    return OutputType(
        kinds=(kind,), depends=lambda a, b: a.key == b.key, key_field=key_field, sorted=True
    )
