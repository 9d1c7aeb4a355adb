"""Declares the common parts of workloads on ads: input, markers and the two forms of a program."""

from collections.abc import Callable, Mapping
from functools import partial

from streamlab.workloads.inputs.ads import generate
from streamlab.workloads.inputs.ads.schema import INPUT, SECOND_MS
from streamlab.workloads.inputs.ads.tables import unfit, with_full_tables_id
from streamlab.workloads.inputs.query_workload import (
    FORM,
    HANDCRAFTED,
    TYPED,
    choose_form,
    declare_workload,
)
from streamlab.workloads.model import (
    Bound,
    Columns,
    Dataflow,
    ModelError,
    Parameter,
    Params,
    Pipeline,
    Query,
    Workload,
)
from streamlab.workloads.model.answers.output_order import inferred_output
from streamlab.workloads.model.streams.limits import Limit

MARKERS = {
    "markers_ms": Parameter(
        default=SECOND_MS, help="event time from a marker to the next", minimum=1, maximum=2**40
    )
}
"""Query parameter of workloads that emit at markers."""


def declare_ads_workload(
    *,
    name: str,
    title: str,
    paper: str,
    query: Mapping[str, Parameter],
    typed: Callable[[Params], Dataflow],
    handcrafted: Callable[[Params], Query | Pipeline],
    oracle: Callable[..., Columns],
    limits: tuple[Limit, ...] = (),
) -> Workload:
    """Return a workload on events of ads, with a program in two forms.

    The oracle gets the full dataset id of its tables, because the oracle's arguments identify stored
    answers, and a prefix of an id may later match another dataset.
    """

    def bind(values: Params) -> Bound:
        program = choose_form(values, {TYPED: typed, HANDCRAFTED: handcrafted})(values)
        return Bound(
            program=program,
            output=inferred_output(program),
            oracle=partial(oracle, query=with_full_tables_id(values)),
            limits=limits,
        )

    return declare_workload(
        generate,
        name=name,
        title=title,
        paper=paper,
        query={**query, **FORM},
        bind=bind,
        input=INPUT,
        unfit=unfit,
        small={"rate": 50},
    )


WINDOW = {
    **MARKERS,
    "window_ms": Parameter(
        default=10_000, help="window size (event time)", minimum=1, maximum=2**40
    ),
}
_MAX_BLOCKS = 10_000
"""Largest number of blocks of a sliding window; a key's state has a count for each of them."""


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
