"""csp, in its own environment: right on its workloads, with a time of its own for every event."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.csp.adapter import CspEngine
from streamlab.engines.csp.clock import LONGEST_NS, Clock
from streamlab.engines.errors import UnsupportedError
from streamlab.workloads.registry import workload
from tests.engines.separate_environment import (
    check_conformance,
    check_random_inputs,
    requires_environment,
)
from tests.engines.tasks import task_of

VARIANT = "simulation"
TIMES = st.lists(st.integers(-3, 3), max_size=8).map(lambda ts: np.sort(np.array(ts, np.int64)))


@pytest.mark.parametrize("name", CspEngine.queries)
@requires_environment(CspEngine)
def test_it_conforms(name):
    check_conformance("csp", VARIANT, name, {"more workers than streams"})


@pytest.mark.full
@requires_environment(CspEngine)
def test_random_input_is_answered_as_the_oracle_does():
    check_random_inputs("csp", VARIANT, sorted(CspEngine.queries))


@given(st.lists(TIMES, max_size=4))
def test_times_of_the_clock_differ_and_are_in_total_order(streams):
    clock = Clock.from_times(streams)
    rows = [(ts, index, row) for index, part in enumerate(streams) for row, ts in enumerate(part)]
    times = [int(clock.times[index][row]) for _, index, row in sorted(rows)]
    assert all(before < after for before, after in pairwise(times))
    assert all(0 <= time < clock.end_ns for time in times)
    for part, placed in zip(streams, clock.times, strict=True):
        assert clock.event_ts(placed).tolist() == part.tolist()


def test_an_input_longer_than_the_clock_runs_is_refused():
    Clock.from_times([np.array([0, LONGEST_NS - 1])])
    with pytest.raises(
        UnsupportedError, match=r"csp's clock runs 9.* ns; 4500000000000000000 units"
    ):
        Clock.from_times([np.array([0, 0]), np.array([LONGEST_NS // 2])])


def test_a_second_worker_and_other_workloads_are_refused(tmp_path):
    subject = workload("event_window")
    task = task_of(subject, ordinary_input(subject), tmp_path, VARIANT)
    engine = CspEngine()
    assert engine.unsupported(replace(task, workers=2)) == "csp has at most 1 worker, got 2"
    assert "runs no queries" in engine.unsupported(replace(task, workload=workload("wordcount")))
