"""Declares the common parts of workloads on ads: input, markers and the two forms of a program."""

from collections.abc import Callable
from functools import partial

from streamlab.workloads.inputs.ads import generate
from streamlab.workloads.inputs.ads.fit import unfit
from streamlab.workloads.inputs.ads.schema import INPUT, SECOND_MS
from streamlab.workloads.inputs.ads.tables import with_full_tables_id
from streamlab.workloads.inputs.forms import choose_form
from streamlab.workloads.inputs.query_workload import declare_workload
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
"""Query parameter of workloads that emit at markers."""


def bind_form(
    query: Params,
    *,
    typed: Callable[[Params], Dataflow],
    handcrafted: Callable[[Params], Query | Pipeline],
    oracle: Callable[..., Columns],
) -> Bound:
    """Return the program in the form that the query selects, with its oracle.

    The oracle gets the full dataset id of its tables. Stored answers are identified by the oracle's
    arguments, and a prefix of an id may later match another dataset.

    Raises:
        ModelError: the form is unknown, or the tables do not exist.
    """
    program = choose_form(query, typed=typed, handcrafted=handcrafted)(query)
    return Bound(
        program=program,
        output=inferred_output(program),
        oracle=partial(oracle, query=with_full_tables_id(query)),
    )


declare_ads_workload = partial(
    declare_workload, generate, input=INPUT, unfit=unfit, small={"rate": 50}
)
"""Declares a workload on events of ads."""
