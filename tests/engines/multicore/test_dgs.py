"""The multicore engine equals every oracle at any worker count, batch size and ring size."""

from contextlib import closing
from itertools import product

import numpy as np
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import workload
from tests.engines.inputs import input_of
from tests.engines.multicore.dgs_programs import BY_COST, generated
from tests.engines.multicore.native_runs import check_native, make_run, run_native
from tests.engines.tasks import assert_equal, task_of
from tests.examples import examples

WINDOWS = workload("event_window")


@pytest.mark.some(2)
@pytest.mark.parametrize("name", BY_COST)
def test_it_equals_the_oracle_on_any_small_input(name):
    subject = workload(name)

    @settings(max_examples=examples(120), suppress_health_check=[HealthCheck.too_slow])
    @given(
        inputs(subject.program, max_events=20),
        st.integers(1, 8),
        st.sampled_from([1, 2, 3, 100]),
        st.sampled_from([1, 2, 64]),
    )
    def holds(data, workers, batch, ring_blocks):
        check_native("dgs", subject, data, workers=workers, batch=batch, ring_blocks=ring_blocks)

    holds()


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("name", BY_COST)
@pytest.mark.parametrize("workers", [1, 2, 3, 8, 64])
def test_generated_input_gives_one_answer_at_any_parallelism(name, workers):
    subject = workload(name)
    data = generated(name, 60_000, streams=3)
    expected = subject.oracle(data)
    for batch, handover in product((1, 64, 100_000), ("direct", "ring")):
        how = {"workers": workers, "batch": batch, "handover": handover}
        check_native("dgs", subject, data, expected, **how)


@pytest.mark.parametrize("gather", [True, False])
def test_a_barrier_for_every_few_values_gives_the_oracles_answer(gather):
    values = 2_000_000
    times = np.arange(values // 2) * 2
    ones = {"value": np.ones(values // 2, int)}
    every = np.arange(39, values, 40)
    barriers = (1, every, {"value": np.zeros(len(every), int)})
    data = input_of(WINDOWS.program.kinds, (0, times, ones), (0, times, ones), barriers)
    measured, _ = check_native("dgs", WINDOWS, data, workers=2, batch=4096, gather=gather)
    assert measured.counters["synchronizations"] == len(every)
    # The first try is always made.
    assert (measured.counters["gatherings"] >= 1) == gather


@pytest.mark.parametrize("name", ["page_view_join", "keyed_counter"])
def test_many_keys_and_few_streams_spread_over_the_workers(name):
    subject = workload(name)
    keys = {"pages": 500} if name == "page_view_join" else {"keys": 500}
    data = generated(name, 50_000, streams=1, skew=1.1, **keys)
    with closing(make_run("dgs", subject.program, data, workers=4, batch=100)) as run:
        run.run()
        nodes = [node for tree in run.plan.trees for node in tree.root.walk()]
        assert {node.worker for node in nodes if not node.children} == {0, 1, 2, 3}
        assert_equal(subject.oracle(data), run.answer(), subject.output)


def test_the_same_cell_emits_its_dependent_outputs_in_one_order():
    data = generated("event_window", 200_000, values_per_barrier=50)
    _, first = run_native("dgs", WINDOWS.program, data, workers=2)
    for _ in range(7):
        _, again = run_native("dgs", WINDOWS.program, data, workers=2)
        assert all(np.array_equal(first[name], again[name]) for name in first)


def test_memory_does_not_grow_with_the_length_of_the_stream():
    process = psutil.Process()
    grown = []
    for events in (2_000_000, 8_000_000):
        data = generated("event_window", events)
        with closing(make_run("dgs", WINDOWS.program, data, workers=2, batch=256)) as run:
            before = process.memory_info().rss
            run.run()
            grown.append(process.memory_info().rss - before)
    # The output chunk of each worker is 4 MiB; everything else is bounded by the rings.
    assert max(grown) < 16 << 20, grown


@pytest.mark.parametrize(
    ("ts", "values", "message"),
    [
        ([1, np.iinfo(np.int64).max], np.array([1, 2]), "end of time"),
        ([0, 1], np.array([1, 2], dtype=np.int32), "value is int32"),
    ],
    ids=["the end of time", "a payload of another type"],
)
def test_an_input_that_the_core_cannot_read_is_refused(ts, values, message):
    data = input_of(WINDOWS.program.kinds, (0, ts, {"value": values}))
    with pytest.raises(EngineError, match=message):
        make_run("dgs", WINDOWS.program, data)


@pytest.mark.parametrize(
    ("workers", "variant", "reason"),
    [
        (0, "dgs", "between 1 and 256"),
        (257, "dgs", "between 1 and 256"),
        (2, "nosuch", "no variant 'nosuch'"),
    ],
)
def test_the_engine_states_its_limits(workers, variant, reason, tmp_path):
    data = generated("event_window", 10)
    task = task_of("event_window", data, tmp_path, variant, workers=workers)
    assert reason in MulticoreEngine().unsupported(task)


def test_latency_is_recorded_for_every_output():
    subject = workload("page_view_join")
    data = generated("page_view_join", 50_000)
    measured, answer = run_native("dgs", subject.program, data, workers=2, batch=64)
    assert measured.latency.counts.sum() == len(answer["ts"])
    assert (np.diff(measured.latency.values_ns) > 0).all()
