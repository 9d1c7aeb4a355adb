"""Nexmark's queries on rows: the programs against their oracles."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.model import Input, ModelError
from streamlab.workloads.model.reference import answer_of, totals_of
from streamlab.workloads.registry import workload
from tests.engines.tasks import assert_equal
from tests.examples import examples
from tests.workloads.suite.nexmark_inputs import auction, bid, nexmark_input, nexmark_inputs
from tests.workloads.suite.streams import agreed, generated

NUMBERS = (*range(10), 11, *range(13, 21))
SMALL = {
    **dict.fromkeys(("day_ms", "every_ms", "gap_ms", "size_ms", "slide_ms"), st.integers(1, 6)),
    **dict.fromkeys(("every", "rows", "slides"), st.integers(1, 3)),
}
ROWS = [f"nexmark_q{number}" for number in NUMBERS]


@pytest.mark.parametrize("name", ROWS)
def test_a_program_gives_what_its_oracle_gives(name: str):
    subject = workload(name)
    small = {parameter: SMALL[parameter] for parameter in subject.query}

    @settings(deadline=None, max_examples=examples(200))
    @given(nexmark_inputs(), st.fixed_dictionaries(small))
    def check(data, query):
        agreed(subject.bound(query), data)

    check()


@pytest.mark.parametrize("name", ROWS)
def test_generated_events_have_answers(name: str):
    subject = workload(name)
    assert agreed(subject, generated(subject, dict(subject.small), 4000, seed=1))


@given(nexmark_inputs())
def test_the_totals_of_arrivals_are_those_of_one_window_with_all_bids(data: Input):
    subject = workload("nexmark_q12")
    totals, one_window = subject.oracle(data), totals_of(subject.program, data)
    for columns in (totals, one_window):
        columns["ts"] = columns["ts"] * 0
    assert_equal(one_window, totals, subject.output)


@pytest.mark.parametrize(("name", "most"), [("nexmark_q5", 256), ("nexmark_q7", 64)])
def test_more_ties_than_a_state_holds_end_the_run(name: str, most: int):
    def tied(bids: int) -> Input:
        rows = [bid(0, number, 100) for number in range(bids)]
        return nexmark_input([*rows, auction(100_000, 1)])

    program = workload(name).program
    assert len(answer_of(program, tied(most))["ts"]) == most * (5 if name == "nexmark_q5" else 1)
    with pytest.raises(ModelError, match=f"more than {most}"):
        answer_of(program, tied(most + 1))
