"""The programs that are run: the suite's, with windows of a few events, and the tests' own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from hypothesis import strategies as st

from streamlab.workloads.model import (
    Columns,
    Dataflow,
    DGSProgram,
    Input,
    OutputType,
    Pipeline,
    Query,
)
from streamlab.workloads.model.answers.output_order import inferred_output
from streamlab.workloads.model.operators.program import SINGLE
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.model.workload import Program
from streamlab.workloads.registry import names, workload
from tests import across
from tests.engines.multicore import chains, dgs_programs, pipelines
from tests.engines.multicore.dataflow import graphs
from tests.engines.multicore.operator_queries import RANDOM, STORED, layouts_of
from tests.random_runs.answers import Same, rows_in_time_order, sequence, trace
from tests.workloads.suite.small_inputs import small_inputs

BOUND: dict[str, dict[str, object]] = {
    "wordcount": {"wa_ms": 3, "ws_ms": 10},
    "paircount": {"wa_ms": 5, "ws_ms": 10, "distance": 2},
    "longest_tweet_per_hashtag": {"wa_ms": 4, "ws_ms": 4},
    "forward": {"copies": 3},
    "scale_join": {"ws_ms": 5, "shares": 3},
    "nyse_hedge": {"ws_ms": 7, "lower": -3.0, "upper": 2.0, "shares": 4},
    "cart_abandonment": {"gap_ms": 5},
    "declining_categories": {"stores": "all", "first_day": "1970-01-01", "days": 8},
    "high_mobility_fraud": {"area": 1, "most_mps": 2.0, "window_ms": 4},
    "items_sold_together": {
        "stores": "all",
        "categories": "1,2",
        "more_than": 0,
        "top": 3,
        "hour_ms": 6,
        "most_items": 3,
        "open_tickets": 3,
    },
    "items_viewed_together": {"item": 1, "gap_ms": 5, "top": 2, "hour_ms": 7, "most_items": 3},
    "last_views_before_purchase": {
        "item": 1,
        "categories": "all",
        "views": 2,
        "within_ms": 20,
        "top": 2,
        "hour_ms": 6,
    },
    "parametric": {"iterations": "2", "partitions": 5, "operators": "sl,ps,sf"},
}
"""Query parameters at which a dozen events have an answer; few, since each is compiled."""


ONCE_PER_KEY = frozenset(
    {"nexmark_q3", "nexmark_q4", "nexmark_q6", "nexmark_q8", "nexmark_q9", "nexmark_q20"}
)
"""Queries whose oracles join on ids that occur once. Random inputs repeat them, so the reference answers."""

MAX_STEPS = 20_000
"""Of windows, which the interpreter moves in some tenths of a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A program, what draws its small inputs, its right answer, and when another is as right."""

    program: Program
    inputs: st.SearchStrategy[Input]
    answer: Callable[[Input], Columns]
    same: Same
    output: OutputType | None = None
    by_key: bool = False
    """Of a join, whether its streams are such that only one by Operator 10 reads them."""

    @property
    def longest(self) -> int:
        """How long an input may last: single windows are moved step by step where nothing is."""
        program = self.program
        steps = isinstance(program, Query) and any(
            operator.window.type == SINGLE for operator in program.operators
        )
        return MAX_STEPS if steps else 1 << 62


def _of_suite(name: str, sides: Sequence[Sequence[str]] = ()) -> Subject:
    found = workload(name)
    if name in BOUND:
        found = found.bound(BOUND[name])
    layouts = None
    if isinstance(found.program, Query):
        layouts = [[(side,) for side in one] for one in sides] or _layouts(found.program)
    return Subject(
        program=found.program,
        inputs=small_inputs(found, layouts) if layouts else small_inputs(found),
        answer=partial(answer_of, found.program) if name in ONCE_PER_KEY else found.oracle,
        same=sequence if isinstance(found.program, Pipeline) else trace(found.output),
        output=found.output,
    )


def _layouts(query: Query) -> list[list[tuple[str, ...]]]:
    """The core wants each input of an operator in streams of its own, one each of a join."""
    kinds = [(kind,) for kind in query.kinds]
    if query.operators[0].join is not None:
        return [kinds]
    return [kinds, [kinds[0]], [kinds[-1], kinds[0], kinds[0]]]


def _of_pipeline(program: Pipeline, same: Same, output: OutputType | None = None) -> Subject:
    layout = [[("reading",)] * streams for streams in (1, 2, 3)]
    return Subject(
        program=program,
        inputs=inputs(program, layouts=layout, max_events=30, values=st.integers(-9, 9)),
        answer=lambda data: answer_of(program, data),
        same=same,
        output=output,
    )


def _of_query(program: Query, layouts: st.SearchStrategy[tuple[tuple[str, ...], ...]]) -> Subject:
    return Subject(
        program=program,
        inputs=layouts.flatmap(lambda layout: inputs(program, layouts=[layout])),
        answer=lambda data: answer_of(program, data),
        same=rows_in_time_order,
    )


def _of_dgs(program: DGSProgram, output: OutputType) -> Subject:
    return Subject(
        program=program,
        inputs=inputs(program, max_events=20),
        answer=lambda data: answer_of(program, data),
        same=trace(output),
    )


def _of_flow(flow: Dataflow) -> Subject:
    output = inferred_output(flow)
    return Subject(
        program=flow,
        inputs=graphs.small_inputs(flow, least=1),
        answer=lambda data: answer_of(flow, data),
        same=trace(output),
        output=output,
    )


def _suite(model: type[Program]) -> dict[str, Subject]:
    found = [name for name in names() if isinstance(workload(name).program, model)]
    return {name: _of_suite(name) for name in found}


def _layouts_of_chain(query: Query) -> st.SearchStrategy[tuple[tuple[str, ...], ...]]:
    return (
        pipelines.LAYOUTS if query.operators[0].join is None else st.just((("left",), ("right",)))
    )


DGS = _suite(DGSProgram) | {
    "two types": _of_dgs(*dgs_programs.TWO_TYPES),
    "two pairs": _of_dgs(*dgs_programs.TWO_PAIRS),
    "plugs": _of_dgs(across.PLUGS, across.OUTPUT),
}
OPERATORS = (
    {
        name: subject
        for name, subject in _suite(Query).items()
        if not subject.program.arrival_tick_ns  # a run stamps arrivals; these are inputs with given times
    }
    | {name: _of_query(query, layouts_of(query)) for name, query in RANDOM.items()}
)
BY_KEY = {name: _of_query(query, layouts_of(query)) for name, query in STORED.items()} | {
    f"{name}, several streams": replace(
        _of_suite(name, [["left", "right", "left"], ["right", "right", "left"]]), by_key=True
    )
    for name in ("scale_join", "nyse_hedge")
}
CHAINS = {
    name: _of_query(query, _layouts_of_chain(query)) for name, query in chains.QUERIES.items()
}
PIPELINES = _suite(Pipeline) | {
    name: _of_pipeline(pipeline, sequence) for name, pipeline in pipelines.SEQUENCES.items()
}
GRAPHS = {
    name: _of_pipeline(pipeline, trace(output), output)
    for name, (pipeline, output) in pipelines.GRAPHS.items()
}
"""Pipelines whose answers do not depend on which instance is first among ties."""
FLOWS = {name: _of_flow(flow) for name, flow in graphs.NAMED.items()}
