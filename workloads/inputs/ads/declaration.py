"""What the workloads on ads declare alike: their input, and two forms of each program."""

from collections.abc import Callable
from functools import partial

from streamlab.workloads.inputs.ads import generate
from streamlab.workloads.inputs.ads.fit import unfit
from streamlab.workloads.inputs.ads.schema import INPUT, SECOND_MS
from streamlab.workloads.inputs.ads.tables import with_whole_id
from streamlab.workloads.inputs.forms import form_of
from streamlab.workloads.inputs.query_workload import declared
from streamlab.workloads.model import (
    Bound,
    Columns,
    Dataflow,
    Parameter,
    Params,
    Pipeline,
    Query,
)
from streamlab.workloads.model.answers.output_order import inferred_output

MARKERS = {
    "markers_ms": Parameter(
        default=SECOND_MS, help="event time from a marker to the next", minimum=1, maximum=2**40
    )
}
"""Query parameter of those that answer at markers."""


def in_form(
    query: Params,
    *,
    typed: Callable[[Params], Dataflow],
    handcrafted: Callable[[Params], Query | Pipeline],
    oracle: Callable[..., Columns],
) -> Bound:
    """Return the program in the form that is asked for, with its oracle.

    The oracle has the whole id of its tables: answers are kept by what an oracle is made of, and
    the beginning of an id may be another dataset's tomorrow.

    Raises:
        ModelError: there is no such form, or there are no such tables.
    """
    program = form_of(query, typed=typed, handcrafted=handcrafted)(query)
    return Bound(
        program=program,
        output=inferred_output(program),
        oracle=partial(oracle, query=with_whole_id(query)),
    )


on_ads = partial(declared, generate, input=INPUT, unfit=unfit, small={"rate": 50})
"""Declares a workload that takes events of ads."""
