"""Declares the common parts of Nexmark's workloads."""

from collections.abc import Callable, Mapping
from functools import partial

from streamlab.workloads.inputs.nexmark import generate
from streamlab.workloads.inputs.nexmark.schema import INPUT
from streamlab.workloads.inputs.query_workload import declare_workload
from streamlab.workloads.model import Bound, Columns, Parameter, Params, Program, Workload
from streamlab.workloads.model.answers.output_order import inferred_output

NO_PARAMETERS: Mapping[str, Parameter] = {}


def declare_nexmark_workload(
    number: int,
    title: str,
    *,
    program: Callable[..., Program],
    oracle: Callable[..., Columns],
    query: Mapping[str, Parameter] = NO_PARAMETERS,
) -> Workload:
    """Return the workload of a query, by its public number; program and oracle take the query parameters by name."""

    def bind(values: Params) -> Bound:
        made_program = program(**values)
        return Bound(
            program=made_program,
            output=inferred_output(made_program),
            oracle=partial(oracle, **values),
        )

    return declare_workload(
        generate,
        name=f"nexmark_q{number}",
        title=title,
        paper=f"Nexmark, query {number}",
        query=query,
        bind=bind,
        input=INPUT,
        small={"rate": 100},
    )
