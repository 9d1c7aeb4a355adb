"""The reference engine equals every workload's oracle, and behaves as an engine must."""

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from streamlab.engines.errors import EngineCrashError, UnsupportedError
from streamlab.engines.pacer import Pacer
from streamlab.engines.protocol import OfferedLoad
from streamlab.engines.reference.adapter import PreparedReference, ReferenceEngine
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.load.schedule import offer
from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.measure.latency import percentiles
from streamlab.workloads.datasets.oracle_cache import expected
from streamlab.workloads.model import Input
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import names, workload
from streamlab.workloads.suite.event_window.program import PROGRAM as EVENT_WINDOW
from tests.engines.clock import FakeClock, load_of
from tests.engines.inputs import input_of
from tests.engines.tasks import assert_equal, task_of
from tests.examples import examples
from tests.workloads.suite.small_inputs import values
from tests.workloads.suite.streams import generated

MS = 1_000_000
STALL_NS = 200 * MS


@pytest.mark.parametrize("name", names())
def test_the_reference_engine_equals_the_oracle(name):
    found = workload(name)

    @settings(max_examples=examples(150))
    @given(inputs(found.program, max_events=20, values=values(found)))
    def holds(data: Input) -> None:
        prepared = PreparedReference(found.program, data)
        measured = prepared.run()
        assert_equal(found.oracle(data), prepared.answer(), found.output)
        assert measured.events == data.events

    holds()


def window(**payload: object) -> Input:
    return input_of(EVENT_WINDOW.kinds, (1, [5], {}), (0, [5], payload))


def test_ties_in_time_go_by_the_order_of_streams():
    data = window(value=np.array([7], dtype=np.int64))
    first = PreparedReference(EVENT_WINDOW, data)
    first.run()
    assert first.answer()["sum"].tolist() == [0]
    swapped = Input(alphabet=data.alphabet, streams=data.streams[::-1])
    second = PreparedReference(EVENT_WINDOW, swapped)
    second.run()
    assert second.answer()["sum"].tolist() == [7]


def test_answers_have_the_output_types_even_without_rows():
    prepared = PreparedReference(EVENT_WINDOW, input_of(EVENT_WINDOW.kinds, (0, [], {})))
    assert prepared.run().events == 0
    assert {name: column.dtype for name, column in prepared.answer().items()} == {
        "ts": np.dtype(np.int64),
        "sum": np.dtype(np.int64),
    }
    prepared.close()
    prepared.close()


def test_a_failing_program_is_a_crash_that_names_program_and_cause():
    def update(state, event, out):
        state.nothing += 1

    broken = replace(EVENT_WINDOW, states=(replace(EVENT_WINDOW.states[0], update=update),))
    prepared = PreparedReference(broken, window())
    with pytest.raises(
        EngineCrashError, match=r"raised AttributeError: .*, in update \(.*test_reference.py:\d+\)"
    ) as caught:
        prepared.run()
    assert isinstance(caught.value.__cause__, AttributeError)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"workers": 2}, "reference has at most 1 worker, got 2"),
        ({"variant": "fast"}, "no variant 'fast'"),
        ({"options": {"pin": True}}, "no options, got pin"),
    ],
)
def test_what_it_cannot_do_is_unsupported_with_a_reason(tmp_path, changes, reason):
    found = workload("event_window")
    fields = {"variant": "sequential", **changes}
    task = task_of(found, input_of(EVENT_WINDOW.kinds), tmp_path, **fields)
    engine = ReferenceEngine()
    assert reason in (engine.unsupported(task) or "")
    with pytest.raises(UnsupportedError, match=reason):
        engine.prepare(task)


def in_total_order(data: Input, gap_ms: int) -> OfferedLoad:
    """Return a load in which an event is due every `gap_ms`, without any heartbeat."""
    lengths = [len(stream) for stream in data.streams]
    due_ns = np.empty(sum(lengths), dtype=np.int64)
    order = np.argsort(np.concatenate([stream.ts for stream in data.streams]), kind="stable")
    due_ns[order] = np.arange(len(due_ns)) * gap_ms * MS
    return load_of(np.split(due_ns, np.cumsum(lengths)[:-1]))


def test_each_output_carries_the_due_time_of_the_event_that_made_it():
    data = window(value=np.array([7], dtype=np.int64))
    clock = FakeClock()

    def update(state, event, out):
        clock.pass_ns(15 * MS)
        EVENT_WINDOW.states[0].update(state, event, out)

    slow = replace(EVENT_WINDOW, states=(replace(EVENT_WINDOW.states[0], update=update),))
    load = in_total_order(data, 10)
    prepared = PreparedReference(slow, data, load, pacer=clock.pacer)
    measured = prepared.run()
    # The barrier is due at 0 and comes first; the value that is due at 10 ms makes no output.
    assert percentiles(measured.latency).count == 1
    assert percentiles(measured.latency).max_ns == pytest.approx(15 * MS, rel=1e-3)
    assert measured.progress.consumed.tolist() == [2]
    assert (measured.sent.events, measured.sent.own_thread) == (2, False)


def stalled(tmp_path, rate_eps, seconds, stall, pacer):
    """Offer windows to a program that stalls once, in the middle; return what was measured."""
    found = workload("event_window")
    data = generated(found, {"values_per_barrier": 2}, 2 * int(rate_eps * seconds), 1)
    dataset = write_dataset(data, found.name, tmp_path)
    spec = LoadSpec(rate_eps=rate_eps, warm_up_s=0.1 * seconds, window_s=0.9 * seconds)
    offered = offer(spec, dataset)
    middle_ts = offered.dataset.until_ts // 2
    stalls = []

    def update(state, event, out):
        if event.ts >= middle_ts and not stalls:
            stalls.append(event)
            stall()
        EVENT_WINDOW.states[0].update(state, event, out)

    program = replace(EVENT_WINDOW, states=(replace(EVENT_WINDOW.states[0], update=update),))
    prepared = PreparedReference(program, offered.dataset.load(), offered.load, pacer=pacer)
    measured = prepared.run()
    assert_equal(expected(found, offered.dataset), prepared.answer(), found.output)
    assert measured.events == offered.dataset.events
    return measured


def test_a_stall_shows_in_the_latency_and_a_naive_clock_would_have_hidden_it(tmp_path):
    clock = FakeClock(read_ns=5_000)
    measured = stalled(
        tmp_path,
        rate_eps=10_000.0,
        seconds=2.0,
        stall=lambda: clock.pass_ns(STALL_NS),
        pacer=clock.pacer,
    )
    latency, service = percentiles(measured.latency), percentiles(measured.service_latency)
    assert latency.count == service.count > 1_000
    # A tenth of the outputs are due in the stall; those due in its first half wait 100 ms or more.
    assert 100 * MS <= latency.p99_ns <= STALL_NS * 1.01
    assert latency.p50_ns < 1 * MS
    assert service.p99_ns < 1 * MS
    backlog = np.cumsum(measured.progress.emitted - measured.progress.consumed)
    assert backlog.max() >= 900
    assert backlog[-1] == 0


def test_a_real_stall_of_a_real_run_shows_too(tmp_path):
    measured = stalled(
        tmp_path,
        rate_eps=4_000.0,
        seconds=1.5,
        stall=lambda: time.sleep(STALL_NS / 1e9),
        pacer=Pacer,
    )
    assert percentiles(measured.latency).p99_ns >= 100 * MS
    # What else the machine does makes outputs slow by both clocks; the stall by the first alone.
    slow = [
        int(found.counts[found.values_ns >= 100 * MS].sum())
        for found in (measured.latency, measured.service_latency)
    ]
    assert slow[0] > slow[1] + 10
