"""Declares workloads with query parameters from a generator and a `bind` function.

A program may have two forms: a typed dataflow graph, or a handwritten equivalent in another model.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from streamlab.workloads.model import (
    Block,
    Bound,
    Columns,
    ModelError,
    OutputType,
    Parameter,
    Params,
    Program,
    StreamSpec,
    Workload,
)
from streamlab.workloads.model.streams.limits import Limit


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


TYPED, HANDCRAFTED = "typed", "handcrafted"

FORM = {
    "form": Parameter(
        default=TYPED,
        help=f"{TYPED}: a typed dataflow graph; {HANDCRAFTED}: written directly in another model",
    )
}
"""Query parameter of workloads with two forms; both give the same answer."""

Forms = Mapping[str, Callable[..., Program]]


def choose_form(query: Params, forms: Forms) -> Callable[..., Program]:
    """Return the function that makes the program in the form that the query selects.

    Raises:
        ModelError: query parameter `form` has an unknown value.
    """
    form = str(query["form"])
    if form not in forms:
        raise ModelError(f"query parameter form is {form!r}; give {' or '.join(forms)}")
    return forms[form]


def parameters_without_form(query: Params) -> Mapping[str, object]:
    """Return the query parameters that a program and its oracle take."""
    return {name: value for name, value in query.items() if name != "form"}


def bind_arguments(
    program: Callable[..., Program] | Forms,
    oracle: Callable[..., Columns],
    output: OutputType,
    arguments: Callable[[Params], Mapping[str, object]] = parameters_without_form,
    limit: Callable[..., Limit] | None = None,
) -> Callable[[Params], Bound]:
    """Return a `bind` for a program and an oracle that take the same arguments, by name.

    `arguments` makes these arguments from the query parameters; `limit` takes the same arguments. A program
    with two forms is passed as the functions that make it, by form.
    """

    def bind(query: Params) -> Bound:
        make = program if callable(program) else choose_form(query, program)
        values = arguments(query)
        return Bound(
            program=make(**values),
            output=output,
            oracle=partial(oracle, **values),
            limits=() if limit is None else (limit(**values),),
        )

    return bind
