"""The multicore engine equals every oracle at any worker count, batch size and ring size."""

from dataclasses import replace
from itertools import product

import numpy as np
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.multicore.dgs.options import DgsOptions
from streamlab.engines.multicore.dgs.run import DgsRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.protocol import Task
from streamlab.workloads.datasets.generated_input import generate_input
from streamlab.workloads.model import (
    Alphabet,
    DGSProgram,
    Input,
    Stream,
)
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import names, workload
from tests.examples import examples

PROGRAMS = [name for name in names() if isinstance(workload(name).program, DGSProgram)]
"""Queries of operators are in test_oplus.py."""

SLOW_TO_COMPILE = {"outlier_detection"}
"""Programs whose kernels take 7 s to compile anew, because of their many fields."""

BY_COST = [
    pytest.param(name, marks=pytest.mark.full) if name in SLOW_TO_COMPILE else name
    for name in PROGRAMS
]
"""Programs, of which `make test` leaves the slow to compile to `make test-all`. It runs them on
this engine in tests/engines/test_conformance.py."""


def generated(name, events, seed=3, **given):
    found = workload(name)
    return generate_input(found, found.params(given), events, seed)


def answer_of(found, data, plan=None, handover="direct", **given):
    options = DgsOptions(handover=handover)
    run = DgsRun(found.program, data, RunSettings(**given), options, plan=plan)
    try:
        measured = run.run()
        assert measured.events == data.events
        return run.answer()
    finally:
        run.close()


@pytest.mark.some(2)
@pytest.mark.parametrize("name", BY_COST)
def test_it_equals_the_oracle_on_any_small_input(name):
    found = workload(name)

    @settings(
        deadline=None, max_examples=examples(120), suppress_health_check=[HealthCheck.too_slow]
    )
    @given(
        inputs(found.program, max_events=20),
        st.integers(1, 8),
        st.sampled_from([1, 2, 3, 100]),
        st.sampled_from([1, 2, 64]),
    )
    def holds(data, workers, batch, ring_blocks):
        answer = answer_of(found, data, workers=workers, batch=batch, ring_blocks=ring_blocks)
        difference = compare(found.oracle(data), answer, found.output)
        assert difference.equal, difference.render()

    holds()


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("name", BY_COST)
@pytest.mark.parametrize("workers", [1, 2, 3, 8, 64])
def test_generated_input_gives_one_answer_at_any_parallelism(name, workers):
    found = workload(name)
    data = generated(name, 60_000, streams=3)
    expected = found.oracle(data)
    for batch, handover in product((1, 64, 100_000), ("direct", "ring")):
        answer = answer_of(found, data, workers=workers, batch=batch, handover=handover)
        difference = compare(expected, answer, found.output)
        assert difference.equal, difference.render()


@pytest.mark.parametrize("gather", [True, False])
def test_a_barrier_for_every_few_values_gives_the_oracles_answer(gather):
    found = workload("event_window")
    values = 2_000_000
    of_one = Stream(
        name="",
        kinds=(0,),
        ts=np.arange(values // 2) * 2,
        payload={"value": np.ones(values // 2, int)},
    )
    every = np.arange(39, values, 40)
    barriers = Stream(name="b", kinds=(1,), ts=every, payload={"value": np.zeros(len(every), int)})
    data = Input(
        alphabet=Alphabet(kinds=found.program.kinds),
        streams=(replace(of_one, name="v0"), replace(of_one, name="v1"), barriers),
    )
    settings = RunSettings(workers=2, batch=4096)
    run = DgsRun(found.program, data, settings, DgsOptions(gather=gather))
    measured = run.run()
    difference = compare(found.oracle(data), run.answer(), found.output)
    run.close()
    assert difference.equal, difference.render()
    assert measured.counters["synchronizations"] == len(every)
    # The first try is always made.
    assert (measured.counters["gatherings"] >= 1) == gather


@pytest.mark.parametrize("name", ["page_view_join", "keyed_counter"])
def test_many_keys_and_few_streams_spread_over_the_workers(name):
    found = workload(name)
    keys = {"pages": 500} if name == "page_view_join" else {"keys": 500}
    data = generated(name, 50_000, streams=1, skew=1.1, **keys)
    run = DgsRun(found.program, data, RunSettings(workers=4, batch=100))
    run.run()
    used = {
        node.worker for tree in run.plan.trees for node in tree.root.walk() if not node.children
    }
    assert used == {0, 1, 2, 3}
    difference = compare(found.oracle(data), run.answer(), found.output)
    assert difference.equal, difference.render()


def test_equal_timestamps_give_the_same_answer_every_time():
    found = workload("keyed_counter")
    rng = np.random.default_rng(5)
    streams = []
    for index in range(4):
        ts = np.sort(rng.integers(0, 40, 3_000))
        tag = (rng.integers(0, 6, 3_000) * 2 + (rng.random(3_000) < 0.1)).astype(np.int32)
        streams.append(Stream(name=f"s{index}", kinds=(0, 1), ts=ts, tag=tag))
    data = Input(alphabet=Alphabet(kinds=found.program.kinds, keys=6), streams=tuple(streams))
    expected = found.oracle(data)
    for repetition in range(8):
        for workers in (2, 3, 4, 6):
            answer = answer_of(found, data, workers=workers, batch=1 + repetition * 7)
            difference = compare(expected, answer, found.output)
            assert difference.equal, difference.render()


def test_the_same_cell_emits_its_dependent_outputs_in_one_order():
    found = workload("event_window")
    data = generated("event_window", 200_000, values_per_barrier=50)
    first = answer_of(found, data, workers=2, batch=1)
    for _ in range(7):
        again = answer_of(found, data, workers=2, batch=1)
        assert all(np.array_equal(first[name], again[name]) for name in first)


def test_memory_does_not_grow_with_the_length_of_the_stream():
    found = workload("event_window")
    process = psutil.Process()
    grown = []
    for events in (2_000_000, 8_000_000):
        data = generated("event_window", events)
        run = DgsRun(found.program, data, RunSettings(workers=2, batch=256))
        before = process.memory_info().rss
        run.run()
        grown.append(process.memory_info().rss - before)
        run.close()
    # The output chunk of each worker is 4 MiB; everything else is bounded by the rings.
    assert max(grown) < 16 << 20, grown


def test_closing_a_run_that_never_ran_ends_its_threads():
    found = workload("event_window")
    before = psutil.Process().num_threads()
    run = DgsRun(found.program, generated("event_window", 10_000), RunSettings(workers=4, batch=64))
    assert psutil.Process().num_threads() == before + 4
    run.close()
    assert psutil.Process().num_threads() == before
    with pytest.raises(EngineError, match="closed"):
        run.answer()


def test_the_end_of_time_is_refused_as_a_timestamp():
    found = workload("event_window")
    stream = Stream(
        name="value-0",
        kinds=(0,),
        ts=np.array([1, np.iinfo(np.int64).max]),
        payload={"value": np.array([1, 2])},
    )
    data = Input(alphabet=Alphabet(kinds=found.program.kinds), streams=(stream,))
    with pytest.raises(EngineError, match="end of time"):
        DgsRun(found.program, data, RunSettings(workers=1, batch=1))


def test_a_payload_of_another_type_is_refused():
    found = workload("event_window")
    stream = Stream(
        name="value-0",
        kinds=(0,),
        ts=np.arange(2),
        payload={"value": np.array([1, 2], dtype=np.int32)},
    )
    data = Input(alphabet=Alphabet(kinds=found.program.kinds), streams=(stream,))
    with pytest.raises(EngineError, match="value is int32"):
        DgsRun(found.program, data, RunSettings(workers=1, batch=1))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"workers": 0}, "between 1 and 64"),
        ({"workers": 65}, "between 1 and 64"),
        ({"variant": "nosuch"}, "no variant 'nosuch'"),
        ({"variant": "vsn"}, "is a DGS program; give variants = ['dgs']"),
        ({"options": {"pinn": True}}, "no option 'pinn'"),
        ({"options": {"pin": 1}}, "takes bool"),
    ],
)
def test_what_it_cannot_do_it_says(change, reason, tmp_path):
    task = Task(
        workload=workload("event_window"),
        dataset=None,
        variant="dgs",
        workers=2,
        batch=64,
        scratch=tmp_path,
    )
    assert MulticoreEngine().unsupported(task) is None
    assert reason in MulticoreEngine().unsupported(replace(task, **change))


def test_pinned_threads_give_the_same_answer():
    found = workload("fraud_detection")
    data = generated("fraud_detection", 50_000)
    answer = answer_of(found, data, workers=3, batch=64, pin=True)
    assert compare(found.oracle(data), answer, found.output).equal


def test_latency_is_recorded_for_every_output():
    found = workload("page_view_join")
    data = generated("page_view_join", 50_000)
    run = DgsRun(found.program, data, RunSettings(workers=2, batch=64))
    measured = run.run()
    assert measured.latency is not None
    assert measured.latency.counts.sum() == len(run.answer()["ts"])
    assert (np.diff(measured.latency.values_ns) > 0).all()
