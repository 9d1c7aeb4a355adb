"""Declares workloads with query parameters from a generator and a `bind` function."""

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
    """A module that generates an input; `Workload` documents the functions."""

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


def declare_workload(
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
    """Return a workload on a generator's input, bound to the defaults of its query parameters.

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


def output_per_key(kind: str, key_field: str) -> OutputType:
    """Return the type of outputs that leave in time order and depend on outputs of their key."""
    return OutputType(
        kinds=(kind,), depends=lambda a, b: a.key == b.key, key_field=key_field, sorted=True
    )
