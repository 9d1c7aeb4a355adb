"""Variant `dataflow` gives the interpreter's answer, and times outputs from their last input."""

import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamlab.engines.multicore.dataflow.run import _markers
from streamlab.engines.protocol import BATCHINGS
from streamlab.workloads.model.dataflow.drawing import describe_deployment
from streamlab.workloads.model.dataflow.plan import deploy
from tests.engines.multicore.dataflow.graphs import (
    NAMED,
    STATELESS,
    chain,
    check_flow,
    graphs,
    many_events,
    run_flow,
    small_inputs,
)
from tests.engines.multicore.native_runs import even_load
from tests.examples import examples

HOW = st.fixed_dictionaries(
    {
        "workers": st.sampled_from([1, 2, 3, 5]),
        "batch": st.sampled_from([64, 1, 2, 4096]),
        "combine": st.sampled_from(["always", "never"]),
        "link_rows": st.sampled_from([1 << 14, 1]),
    }
)


def check_as_drawn(data, flow, given_input):
    load = even_load(given_input, 1000) if data.draw(st.booleans()) else None
    check_flow(flow, given_input, load=load, **data.draw(HOW))


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_random_graphs_are_answered_as_by_the_interpreter(data):
    flow = data.draw(graphs())
    check_as_drawn(data, flow, data.draw(small_inputs(flow)))


@pytest.mark.some(3)
@pytest.mark.parametrize("name", NAMED)
def test_long_inputs_are_answered_as_by_the_interpreter(name):
    flow = NAMED[name]
    data = many_events(flow, 4000)
    for workers, batch, combine in ((1, 64, "always"), (2, 1, "never"), (3, 4096, "always")):
        measured, _ = check_flow(flow, data, workers=workers, batch=batch, combine=combine)
        assert measured.counters["markers"] > 100


@pytest.mark.some(6)
@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("soundness", ["typed", "none"])
def test_the_run_uses_the_deployment_of_the_model(name, soundness):
    flow = NAMED[name]
    data = many_events(flow, 60, streams=2)
    deployed = deploy(flow, 3, streams=[2] * len(flow.kinds), sound=soundness == "typed")
    measured, _ = run_flow(flow, data, workers=3, soundness=soundness)
    assert measured.plan == f"{describe_deployment(deployed)}; 3 workers"


@pytest.mark.some(4)
@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("batching", BATCHINGS)
def test_outputs_are_timed_from_when_their_last_input_was_due(name, batching):
    flow = NAMED[name]
    data = many_events(flow, 1500)
    load = even_load(data, 10_000, warm_up_ns=5_000_000, batching=batching)
    begin_ns = time.perf_counter_ns()
    measured, _ = check_flow(flow, data, workers=2, load=load)
    elapsed_ns = time.perf_counter_ns() - begin_ns
    for latency in measured.latency, measured.warm_up_latency:
        assert latency.counts.sum() > 0
        # One below zero would have been counted as 0: a marker that is known later than it passes.
        assert 0 < latency.values_ns.min() <= latency.values_ns.max() < elapsed_ns * 1.002
    assert measured.sent.events <= data.events
    assert measured.sent.lag.counts.sum() == data.events


def test_a_load_tells_how_long_it_is_from_a_marker_to_the_next():
    flow = chain(STATELESS[1], markers=10, kinds=2)
    data = many_events(flow, 600, span=200)
    measured, _ = run_flow(flow, data, workers=2, load=even_load(data, 10_000))
    first = min(int(stream.ts[0]) for stream in data.streams)
    last = max(int(stream.ts[-1]) for stream in data.streams)
    lasts_ns = (data.events - 1) * 10_000
    assert measured.counters["marker_period_ns"] == 10 * lasts_ns / (last - first)
    measured, _ = run_flow(flow, data, workers=2)
    assert "marker_period_ns" not in measured.counters  # event time goes by as fast as it can


def test_warm_up_outputs_are_those_of_items_and_markers_due_before_its_end():
    flow = chain(STATELESS[1], markers=10, kinds=2)
    data = many_events(flow, 600, span=200)
    load = even_load(data, 10_000, warm_up_ns=3_000_000)
    measured, _ = run_flow(flow, data, workers=3, load=load)
    first, count = _markers(flow, data)
    # The operator behind `left` is called at markers, which only reads that stream: the other has
    # a copy of it. The first event at or after a marker tells of it, or the end.
    times = first + 10 * np.arange(count)
    known = np.append(load.due_ns[0], load.due_ns[0][-1])[
        np.searchsorted(data.streams[0].ts, times)
    ]
    early = np.count_nonzero(known < load.warm_up_ns)
    assert 0 < early < count
    for stream_, told in zip(data.streams, load.due_ns, strict=True):
        early += int((stream_.payload["x"] % 4)[told < load.warm_up_ns].sum())
    assert measured.warm_up_latency.counts.sum() == early
