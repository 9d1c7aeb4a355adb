"""Variant `dataflow` under a load: when markers are known, and how long outputs take from then."""

import time

import numpy as np
import pytest

from engines.multicore.dataflow.run import _due, _markers
from engines.protocol import BATCHINGS, OfferedLoad
from tests.engines.multicore.dataflow.graphs import (
    NAMED,
    STATELESS,
    chain,
    check_answer,
    load_of,
    many_events,
    run_flow,
)
from workloads.model import Alphabet, Input, Stream


def numbers(*values):
    return np.array(values, dtype=np.int64)


def stream(kind, *ts):
    columns = {"x": np.ones(len(ts), dtype=np.int32), "y": np.ones(len(ts))}
    return Stream(name=f"s{kind}", kinds=(kind,), ts=numbers(*ts), payload=columns)


def due(streams, due_ns, heartbeats, until_ts=None):
    """Return the markers of an input, one every 10, and when each is known."""
    data = Input(alphabet=Alphabet(kinds=("left", "right")), streams=streams, until_ts=until_ts)
    flow = chain(STATELESS[0], markers=10, kinds=2)
    load = OfferedLoad(
        due_ns=tuple(numbers(*row) for row in due_ns),
        heartbeat_ts=tuple(numbers(*(ts for ts, _ in row)) for row in heartbeats),
        heartbeat_due_ns=tuple(numbers(*(ns for _, ns in row)) for row in heartbeats),
        warm_up_ns=0,
        end_ns=0,
    )
    first, count = _markers(flow, data)
    return [first + 10 * n for n in range(count)], _due(load, data, first, 10, count).tolist()


def test_a_marker_is_known_when_the_last_stream_is_past_it():
    streams = stream(0, 1, 10, 25), stream(1, 2, 30)
    times, known = due(streams, [(0, 5, 6), (1, 9)], [(), ()])
    assert times == [10, 20, 30]
    # At 10 the first is at the event at 10 itself, the second at its next; at 30 the first is over.
    assert known == [9, 9, 9]


def test_a_heartbeat_right_before_a_marker_makes_it_known():
    streams = stream(0, 1, 10, 25), stream(1, 2, 30)
    beats = [(), ((8, 2), (9, 3), (18, 4), (24, 7))]
    times, known = due(streams, [(0, 5, 6), (1, 9)], beats)
    # 9 promises that later events are at 10 or later; 18 says nothing of 19.
    assert known == [5, 7, 9]
    assert times == [10, 20, 30]


def test_what_nothing_is_past_is_known_when_a_stream_ends():
    times, known = due((stream(0, 1), stream(1, 4)), [(3,), (7,)], [((4, 8),), ()], until_ts=31)
    assert times == [10, 20, 30]
    assert known == [8, 8, 8]
    assert due((stream(0),), [()], [()]) == ([], [])


@pytest.mark.parametrize("name", ["ordered", "one sequence", "blocks", "one block"])
@pytest.mark.parametrize("batching", BATCHINGS)
def test_outputs_are_timed_from_when_their_last_input_was_due(name, batching):
    flow = NAMED[name]
    data = many_events(flow, 1500)
    load = load_of(data, 10_000, warm_up_ns=5_000_000, batching=batching)
    begin_ns = time.perf_counter_ns()
    got, measured = run_flow(flow, data, workers=2, load=load)
    elapsed_ns = time.perf_counter_ns() - begin_ns
    check_answer(flow, data, got)
    for latency in measured.latency, measured.warm_up_latency:
        assert latency.counts.sum() > 0
        # One below zero would have been counted as 0: a marker that is known later than it passes.
        assert 0 < latency.values_ns.min() <= latency.values_ns.max() < elapsed_ns * 1.002
    assert measured.sent.events <= data.events
    assert measured.sent.lag.counts.sum() == data.events


def test_warm_up_outputs_are_those_of_items_and_markers_due_before_its_end():
    flow = chain(STATELESS[1], markers=10, kinds=2)
    data = many_events(flow, 600, span=200)
    load = load_of(data, 10_000, warm_up_ns=3_000_000)
    _, measured = run_flow(flow, data, workers=3, load=load)
    first, count = _markers(flow, data)
    known = _due(load, data, first, 10, count)
    early = np.count_nonzero(known < load.warm_up_ns)
    assert 0 < early < count
    for stream_, told in zip(data.streams, load.due_ns, strict=True):
        early += int((stream_.payload["x"] % 4)[told < load.warm_up_ns].sum())
    assert measured.warm_up_latency.counts.sum() == early
