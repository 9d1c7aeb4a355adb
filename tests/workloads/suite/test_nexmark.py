"""Nexmark's queries on rows: the programs against their oracles."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.registry import workload
from tests.examples import examples
from tests.workloads.suite.nexmark_inputs import nexmark_inputs
from tests.workloads.suite.streams import agreed, generated

NUMBERS = (0, 1, 2, 3, 4, 6, 9, 13, 14, 20)
SMALL = {"every_ms": st.integers(1, 6), "every": st.integers(1, 3), "rows": st.integers(1, 3)}
ROWS = [f"nexmark_q{number}" for number in NUMBERS]


@pytest.mark.parametrize("name", ROWS)
def test_a_program_gives_what_its_oracle_gives(name: str):
    found = workload(name)
    small = {parameter: SMALL[parameter] for parameter in found.query}

    @settings(deadline=None, max_examples=examples(200))
    @given(nexmark_inputs(), st.fixed_dictionaries(small))
    def check(data, query):
        agreed(found.bound(query), data)

    check()


@pytest.mark.parametrize("name", ROWS)
def test_generated_events_have_answers(name: str):
    found = workload(name)
    assert agreed(found, generated(found, dict(found.small), 4000, seed=1))
