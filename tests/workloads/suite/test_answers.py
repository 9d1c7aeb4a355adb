"""Each program of the suite gives the answer of its oracle, on small inputs and on a generated one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.engines.conformance import ordinary_input
from streamlab.workloads.inputs.retail.schema import DAY_MS
from streamlab.workloads.model import Input, Workload
from streamlab.workloads.model.check import check
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import workload
from tests.examples import examples
from tests.workloads.suite.nexmark_inputs import nexmark_inputs
from tests.workloads.suite.retail_inputs import click_inputs, sale_inputs
from tests.workloads.suite.small_inputs import event_time_workloads, small_inputs
from tests.workloads.suite.streams import agreed

Draw = Callable[[Workload], st.SearchStrategy[Input]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A workload with small query parameters, and inputs on which these have answers."""

    name: str
    query: st.SearchStrategy[dict[str, object]]
    inputs: Draw
    examples: int = 300


def case(name: str, query: Mapping[str, object], draw: Draw, number: int = 300) -> Case:
    """Return a case; values of `query` are strategies or constants."""
    strategies = {
        key: value if isinstance(value, st.SearchStrategy) else st.just(value)
        for key, value in query.items()
    }
    return Case(name=name, query=st.fixed_dictionaries(strategies), inputs=draw, examples=number)


GAP, HOUR = 10, 25
GAPS = (0, 0, 1, 3, GAP, GAP + 1, HOUR, 3 * HOUR)
TOP, FEW = st.sampled_from([1, 2, 30]), st.integers(1, 6)
SMALL = {
    **dict.fromkeys(("day_ms", "every_ms", "gap_ms", "size_ms", "slide_ms"), FEW),
    **dict.fromkeys(("every", "rows", "slides"), st.integers(1, 3)),
}
"""Query parameters of Nexmark."""
PIPELINES: list[dict[str, object]] = [
    {},
    {"operators": "sl"},
    {"operators": "ps,sf", "state_bytes": "8,32"},
    {"operators": "sl,ps", "selectivity": "50,1", "iterations": "0,3"},
    {"operators": "sl,sl,ps,sf", "selectivity": "3,0.5,2,0.3", "tuple_bytes": 64},
    {"operators": "sf,ps,sl", "partitioning": "hash", "partitions": 3},
]
"""Query parameters of parametric pipelines."""
WIDE = st.integers(-3, 3) | st.integers(-(2**40), 2**40)
NEXMARK = [f"nexmark_q{number}" for number in (*range(10), 11, *range(13, 21))]


def clicks(_: Workload) -> st.SearchStrategy[Input]:
    return click_inputs(GAPS, first=-30)


CASES = [
    case(
        "items_sold_together",
        {
            "hour_ms": HOUR,
            "more_than": st.integers(0, 2),
            "top": st.sampled_from([1, 2, 100]),
            "most_items": st.sampled_from([2, 3, 14]),
            "stores": st.sampled_from(["9,11", "all"]),
            "open_tickets": st.sampled_from([1, 2, 3, 100]),
        },
        lambda _: sale_inputs(GAPS, first=-30),
    ),
    case(
        "items_viewed_together",
        {
            "item": 1,
            "gap_ms": GAP,
            "hour_ms": HOUR,
            "top": TOP,
            "most_items": st.sampled_from([2, 3, 32]),
        },
        clicks,
    ),
    case(
        "last_views_before_purchase",
        {
            "item": 1,
            "hour_ms": HOUR,
            "top": TOP,
            "views": st.integers(1, 5),
            "within_ms": st.sampled_from([0, GAP, HOUR]),
            "categories": st.sampled_from(["2,3", "all"]),
        },
        clicks,
        number=600,
    ),
    case("cart_abandonment", {"gap_ms": GAP}, clicks),
    case(
        "declining_categories",
        {
            "stores": st.sampled_from(["10", "9,10,11", "all"]),
            "first_day": "1970-01-10",
            "days": st.sampled_from([2, 5, 40]),
        },
        lambda _: sale_inputs((0, 1, DAY_MS - 1, DAY_MS, DAY_MS, 3 * DAY_MS), first=8 * DAY_MS),
    ),
    case("high_mobility_fraud", {"area": 1, "most_mps": 2.0, "window_ms": 4}, small_inputs),
    *(
        case(
            name,
            {parameter: SMALL[parameter] for parameter in workload(name).query},
            lambda _: nexmark_inputs(),
            number=200,
        )
        for name in NEXMARK
    ),
    *(
        case("parametric", query, lambda chosen: inputs(chosen.program, values=WIDE), number=50)
        for query in PIPELINES
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_program_gives_the_answer_of_its_oracle_on_small_inputs(case: Case):
    @settings(deadline=None, max_examples=examples(case.examples))
    @given(st.data(), case.query)
    def agree(data, query):
        chosen = workload(case.name).bound(query)
        agreed(chosen, data.draw(case.inputs(chosen)))

    agree()


@pytest.mark.parametrize("name", event_time_workloads())
def test_a_program_gives_the_answer_of_its_oracle_on_the_input_of_the_conformance_suite(name: str):
    subject = workload(name)
    assert len(agreed(subject, ordinary_input(subject))) > 1


@pytest.mark.some(3)
@pytest.mark.parametrize("query", PIPELINES, ids=str)
def test_parametric_pipelines_keep_their_laws(query: dict[str, object]):
    report = check(workload("parametric").bound(query).program, examples=20)
    assert report.ok, report.render()
