"""Nexmark's queries on single rows: the programs against their oracles, and small answers by hand."""

import pytest
from hypothesis import given, settings

from streamlab.workloads.registry import workload
from tests.examples import examples
from tests.workloads.suite.nexmark_inputs import nexmark_inputs
from tests.workloads.suite.streams import agreed, generated

ROWS = ("nexmark_q0", "nexmark_q1", "nexmark_q2")


@pytest.mark.parametrize("name", ROWS)
def test_a_program_gives_what_its_oracle_gives(name: str):
    found = workload(name)

    @settings(deadline=None, max_examples=examples(50))
    @given(nexmark_inputs())
    def check(data):
        agreed(found, data)

    check()


@pytest.mark.parametrize("name", ROWS)
def test_generated_events_have_answers(name: str):
    found = workload(name)
    assert agreed(found, generated(found, dict(found.small), 4000, seed=1))
