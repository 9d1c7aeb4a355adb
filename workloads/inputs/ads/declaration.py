"""Declares the common parts of workloads on ads: input, markers and the two forms of a program."""

from collections.abc import Callable
from functools import partial

from streamlab.workloads.inputs.ads import generate
from streamlab.workloads.inputs.ads.schema import INPUT, SECOND_MS
from streamlab.workloads.inputs.ads.tables import unfit, with_full_tables_id
from streamlab.workloads.inputs.query_workload import choose_form, declare_workload
from streamlab.workloads.model import (
    Bound,
    Columns,
    Dataflow,
    ModelError,
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


WINDOW = {
    **MARKERS,
    "window_ms": Parameter(
        default=10_000, help="window size (event time)", minimum=1, maximum=2**40
    ),
}
_MAX_BLOCKS = 10_000
"""Bounds the state of a key, which has a count for each block of a sliding window."""


def blocks_in(query: Params, parameter: str = "window_ms") -> int:
    """Return the number of blocks in the time span of a query parameter.

    Raises:
        ModelError: the span is not a whole number of blocks, or has more than 10,000.
    """
    span_ms, markers_ms = int(query[parameter]), int(query["markers_ms"])
    if span_ms % markers_ms or span_ms // markers_ms > _MAX_BLOCKS:
        raise ModelError(
            f"query parameter {parameter} is {span_ms} and markers_ms {markers_ms}; {parameter} "
            f"must be a multiple of markers_ms, 1 to {_MAX_BLOCKS:,} times as long"
        )
    return span_ms // markers_ms
