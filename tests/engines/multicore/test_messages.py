"""The published form of synchronization plans: actors that send single messages give every oracle's answer.

All threads share one core, and windows of one event are the smallest: a producer that waits for room that only its own
events can make would wait for ever. Why none does: docs/decisions/0029-messages.md.
"""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.conformance_load import LOAD_CASES, run_load_case
from streamlab.engines.errors import EngineCrashError
from streamlab.engines.registry import engine
from streamlab.workloads.model import OutputType
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import workload
from streamlab.workloads.suite.keyed_counter import program as keyed_counter
from streamlab.workloads.suite.keyed_counter.program import INCREMENT, READ_RESET
from tests.across import OUTPUT, PLUGS
from tests.engines.inputs import input_of
from tests.engines.multicore.dgs_programs import (
    BY_COST,
    SLOW_TO_COMPILE,
    TWO_PAIRS,
    TWO_TYPES,
    generated,
    plugs,
)
from tests.engines.multicore.native_runs import check_native, even_load, make_run, run_native
from tests.engines.tasks import assert_equal
from tests.examples import examples

pytestmark = pytest.mark.usefixtures("one_core")

PUBLISHED = {"form": "as-published", "pin": False}
OPTIMIZERS = ("by-stream", "balanced", "appendix-b", "leaf-per-stream")
NAMES = [
    pytest.param(name, marks=pytest.mark.full) if name in SLOW_TO_COMPILE else name
    for name in (
        "event_window",
        "page_view_join",
        "fraud_detection",
        "keyed_counter",
        "outlier_detection",
        "smart_home",
    )
]


@pytest.mark.some(2)
@pytest.mark.parametrize("name", BY_COST)
def test_it_equals_the_oracle_on_any_small_input(name):
    found = workload(name)

    @settings(max_examples=examples(80), suppress_health_check=[HealthCheck.too_slow])
    @given(
        inputs(found.program, max_events=20),
        st.integers(1, 8),
        st.sampled_from([1, 2, 64]),
        st.sampled_from(OPTIMIZERS),
    )
    def holds(data, workers, ring_blocks, optimizer):
        how = {"batch": 1, "ring_blocks": ring_blocks, "optimizer": optimizer, **PUBLISHED}
        check_native("dgs", found, data, workers=workers, **how)

    holds()


@pytest.mark.pairwise
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("workers", [1, 2, 4, 7])
@pytest.mark.parametrize("name", NAMES)
def test_generated_input_gives_one_answer_with_every_plan(name, workers, optimizer):
    found = workload(name)
    data = generated(name, 20_000, streams=3)
    expected = found.oracle(data)
    for batch, ring_blocks in ((1, 64), (64, 1)):
        how = {"batch": batch, "ring_blocks": ring_blocks, "optimizer": optimizer, **PUBLISHED}
        measured, _ = check_native("dgs", found, data, expected, workers=workers, **how)
        assert measured.counters["messages"] >= data.events


@pytest.mark.pairwise
@pytest.mark.parametrize("workers", [1, 2, 4, 7])
@pytest.mark.parametrize("name", NAMES)
def test_an_open_loop_with_heartbeats_gives_it_too(name, workers):
    found = workload(name)
    data = generated(name, 2_000, streams=3)
    how = {"load": even_load(data, 1_000), "ring_blocks": 1 << 10, "batch": 64, **PUBLISHED}
    measured, _ = check_native("dgs", found, data, workers=workers, **how)
    assert measured.counters["heartbeat_messages"] > 0


@pytest.mark.some(5)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("name", ["event_window", "keyed_counter", "page_view_join"])
def test_it_conforms(name, case, tmp_path):
    setting = Setting(variant="dgs", workers=3, batch=7, options=PUBLISHED)
    found = run_case(engine("multicore"), workload(name), case, setting, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


@pytest.mark.some(3)
@pytest.mark.parametrize("case", LOAD_CASES, ids=lambda case: case.name)
def test_it_conforms_under_a_load(case, tmp_path):
    setting = Setting(variant="dgs", workers=3, batch=7, options=PUBLISHED)
    found = run_load_case(engine("multicore"), workload("keyed_counter"), case, setting, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


@pytest.mark.parametrize(("optimizer", "moves"), [("appendix-b", False), ("by-stream", True)])
def test_appendix_b_keeps_the_events_of_inner_nodes_where_they_arrive(optimizer, moves):
    found = workload("event_window")
    times = np.arange(4_000)
    values = {"value": times % 50}
    barriers = {**values, "tag": times % 40 == 39}
    data = input_of(found.program.kinds, ((0, 1), times, barriers), (0, times, values))
    measured, _ = check_native("dgs", found, data, workers=2, optimizer=optimizer, **PUBLISHED)
    assert (measured.counters["record_bytes_moved"] > 0) == moves


def test_an_inner_node_runs_on_a_worker_without_leaves():
    found = workload("event_window")
    data = generated("event_window", 20_000, streams=2)
    for nodes, used in (((0, 1, 2), 3), ((0, 1, 1), 2)):
        how = {"optimizer": "appendix-b", "nodes": nodes, **PUBLISHED}
        measured, _ = check_native("dgs", found, data, workers=3, **how)
        assert (measured.counters["workers_used"], measured.counters["record_bytes_moved"]) == (
            used,
            0,
        )


@pytest.mark.parametrize("workers", [1, 2, 4, 7])
def test_groups_of_keys_are_actors_above_the_trees(workers):
    data = plugs()
    for optimizer in OPTIMIZERS[:2]:
        how = {"workers": workers, "optimizer": optimizer, "batch": 1, **PUBLISHED}
        measured, answer = run_native("dgs", PLUGS, data, **how)
        assert_equal(answer_of(PLUGS, data), answer, OUTPUT)
        across = sum(len(stream) for stream in data.streams[2:])
        assert measured.counters["synchronizations"] >= across


@pytest.mark.parametrize(("program", "output"), [TWO_TYPES, TWO_PAIRS], ids=["types", "pairs"])
def test_state_types_and_pairs_of_dependent_tags_work(program, output):
    rng = np.random.default_rng(1)

    def stream(kind, n):
        amount = {"amount": rng.integers(0, 50, n)}
        return kind, np.sort(rng.integers(0, 900, n)), amount

    kinds = (0, 0, 1) if program is TWO_TYPES[0] else (0, 2, 1, 3)
    data = input_of(program.kinds, *(stream(kind, 400) for kind in kinds))
    right = answer_of(program, data)
    for workers in (1, 2, 4):
        _, answer = run_native("dgs", program, data, workers=workers, batch=1, **PUBLISHED)
        assert_equal(right, answer, output)


def test_a_synchronization_is_a_message_down_up_and_down_each_edge():
    data = generated("event_window", 10_000, streams=4, values_per_barrier=50)
    how = {"workers": 4, "batch": 1, **PUBLISHED}
    with closing(make_run("dgs", workload("event_window").program, data, **how)) as run:
        counters = run.run().counters
        edges = sum(len(node.children) for node in run.plan.trees[0].root.walk())
    assert counters["synchronizations"] == len(data.streams[-1])
    others = counters["messages"] - counters["heartbeat_messages"]
    assert others == data.events + 3 * edges * len(data.streams[-1])
    assert counters["messages_between_workers"] > 0


def echo(state, event, out):
    """Count, and say of each event that it was there; of a read-reset, how many it reads."""
    out.emit(event.ts, event.kind, event.key, state.count * (event.kind == READ_RESET))
    state.count = (state.count + 1) * (event.kind == INCREMENT)


ECHO = replace(
    keyed_counter.PROGRAM,
    name="echo",
    output=np.dtype([("ts", np.int64), ("kind", np.int32), ("key", np.int32), ("count", np.int64)]),
    states=(replace(keyed_counter.PROGRAM.states[0], update=echo),),
)
ECHOES = OutputType(
    kinds=ECHO.kinds, kind_field="kind", key_field="key", depends=keyed_counter.PROGRAM.depends
)


@pytest.mark.parametrize("workers", [1, 3])
def test_dependent_outputs_are_in_order_where_every_stream_has_every_tag(workers):
    data = mixed_streams(keys=5, events=2_000)
    right = answer_of(ECHO, data)
    for batch in (1, 16):
        how = {"batch": batch, "workers": workers, "ring_blocks": 2, **PUBLISHED}
        _, answer = run_native("dgs", ECHO, data, **how)
        assert_equal(right, answer, ECHOES)


def echo_twice(state, event, out):
    echo(state, event, out)
    echo(state, event, out)


def test_more_outputs_than_declared_are_an_error():
    data = mixed_streams(keys=5, events=200)
    twice = replace(ECHO, states=(replace(ECHO.states[0], update=echo_twice),))
    with pytest.raises(EngineCrashError, match=f"emitted {data.events} records beyond"):
        run_native("dgs", twice, data, workers=3, **PUBLISHED)


def beyond(state, event, out):
    out.emit(event.ts, event.kind, event.key, np.arange(3)[event.key])


def test_a_failing_function_ends_the_run_on_all_threads():
    data = mixed_streams(keys=5, events=200)
    failing = replace(ECHO, states=(replace(ECHO.states[0], update=beyond),))
    with pytest.raises(EngineCrashError, match="beyond"):
        run_native("dgs", failing, data, workers=7, **PUBLISHED)


def mixed_streams(keys, events):
    """Return three streams, each of which holds increments and read-resets of all keys."""
    rng = np.random.default_rng(5)

    def stream():
        kinds = rng.integers(0, 8, events) // 7  # an eighth are read-resets
        tag = kinds + len(ECHO.kinds) * rng.integers(0, keys, events)
        return (INCREMENT, READ_RESET), np.sort(rng.integers(0, events, events)), {"tag": tag}

    return input_of(ECHO.kinds, stream(), stream(), stream(), keys=keys)
