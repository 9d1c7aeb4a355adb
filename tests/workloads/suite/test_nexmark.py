"""Nexmark's queries: totals of arrivals, and the limits of states."""

import pytest
from hypothesis import given

from streamlab.workloads.model import Input, ModelError
from streamlab.workloads.model.reference import answer_of, totals_of
from streamlab.workloads.registry import workload
from tests.engines.tasks import assert_equal
from tests.workloads.suite.nexmark_inputs import auction, bid, nexmark_input, nexmark_inputs


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
