"""Nexmark's queries on rows: the programs against their oracles."""

import pytest
from hypothesis import given, settings

from streamlab.workloads.registry import workload
from tests.examples import examples
from tests.workloads.suite.nexmark_inputs import nexmark_inputs
from tests.workloads.suite.streams import agreed, generated

NUMBERS = (0, 1, 2, 3, 4, 6, 9, 13, 14, 20)
ROWS = [f"nexmark_q{number}" for number in NUMBERS]


@pytest.mark.parametrize("name", ROWS)
def test_a_program_gives_what_its_oracle_gives(name: str):
    found = workload(name)

    @settings(deadline=None, max_examples=examples(200))
    @given(nexmark_inputs())
    def check(data):
        agreed(found, data)

    check()


@pytest.mark.parametrize("name", ROWS)
def test_generated_events_have_answers(name: str):
    found = workload(name)
    assert agreed(found, generated(found, dict(found.small), 4000, seed=1))
