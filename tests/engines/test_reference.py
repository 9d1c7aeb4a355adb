"""The reference engine equals every workload's oracle, and behaves as an engine must."""

import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.engines.errors import EngineCrashError, UnsupportedError
from streamlab.engines.pacer import Pacer
from streamlab.engines.protocol import OfferedLoad, Task
from streamlab.engines.reference.adapter import PreparedReference, ReferenceEngine
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.load.schedule import offer
from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.measure.latency import percentiles
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.oracle_cache import expected
from streamlab.workloads.model import Alphabet, Input, Stream, Workload
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import names, workload
from streamlab.workloads.suite.event_window.program import PROGRAM as EVENT_WINDOW
from tests.engines.clock import FakeClock
from tests.examples import examples
from tests.workloads.suite.streams import generated

MS = 1_000_000
STALL_NS = 200 * MS
WIDE = st.integers(-3, 3) | st.integers(-(10**9), 10**9)


def values(found: Workload) -> st.SearchStrategy[int]:
    """Any values, but for lengths of text and keys of outputs, which are never negative."""
    plain = {"chars", "vid"}.isdisjoint(found.program.event.names or ())
    return WIDE if plain else WIDE.map(abs)


@pytest.mark.parametrize("name", names())
def test_the_reference_engine_equals_the_oracle(name):
    found = workload(name)

    @settings(deadline=None, max_examples=examples(150))
    @given(inputs(found.program, max_events=20, values=values(found)))
    def holds(data: Input) -> None:
        prepared = PreparedReference(found.program, data)
        measured = prepared.run()
        difference = compare(found.oracle(data), prepared.answer(), found.output)
        assert difference.equal, difference.render()
        assert measured.events == data.events

    holds()


@pytest.mark.some(8)
@pytest.mark.parametrize("name", names())
def test_the_reference_engine_equals_the_oracle_on_generated_input(name):
    found = workload(name)
    data = generated(found, {}, 3_000, seed=7)
    prepared = PreparedReference(found.program, data)
    prepared.run()
    difference = compare(found.oracle(data), prepared.answer(), found.output)
    assert difference.equal, difference.render()


def window(**payload: object) -> Input:
    return Input(
        alphabet=Alphabet(kinds=EVENT_WINDOW.kinds),
        streams=(
            Stream(name="barrier", kinds=(1,), ts=np.array([5], dtype=np.int64)),
            Stream(name="value", kinds=(0,), ts=np.array([5], dtype=np.int64), payload=payload),
        ),
    )


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
    empty = Stream(name="value", kinds=(0,), ts=np.empty(0, dtype=np.int64))
    data = Input(alphabet=Alphabet(kinds=EVENT_WINDOW.kinds), streams=(empty,))
    prepared = PreparedReference(EVENT_WINDOW, data)
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
    dataset = Dataset(
        id="0" * 64,
        workload=found.name,
        alphabet=Alphabet(kinds=EVENT_WINDOW.kinds),
        streams=(),
        origin={},
        source="none",
        licence="none",
    )
    fields = {"variant": "sequential", "workers": 1, "batch": 1, **changes}
    task = Task(workload=found, dataset=dataset, scratch=tmp_path, **fields)
    engine = ReferenceEngine()
    assert reason in (engine.unsupported(task) or "")
    with pytest.raises(UnsupportedError, match=reason):
        engine.prepare(task)


@pytest.mark.some(9)
@pytest.mark.parametrize("name", names())
def test_under_a_load_the_answer_is_the_same(name):
    found = workload(name)
    clock = FakeClock()

    @settings(deadline=None, max_examples=examples(50))
    @given(inputs(found.program, max_events=20, values=values(found)), st.integers(0, 3))
    def holds(data: Input, gap_ms: int) -> None:
        load = in_total_order(data, gap_ms)
        pacer = partial(Pacer, clock=clock.now, sleep=clock.sleep)
        prepared = PreparedReference(found.program, data, load, pacer=pacer)
        measured = prepared.run()
        difference = compare(found.oracle(data), prepared.answer(), found.output)
        assert difference.equal, difference.render()
        assert measured.events == data.events
        outputs = len(prepared.answer()["ts"])
        assert measured.progress.outputs.sum() == outputs
        assert measured.latency.counts.sum() + measured.warm_up_latency.counts.sum() == outputs

    holds()


def in_total_order(data: Input, gap_ms: int) -> OfferedLoad:
    """Return a load in which an event is due every `gap_ms`, without any heartbeat."""
    lengths = [len(stream) for stream in data.streams]
    due_ns = np.empty(sum(lengths), dtype=np.int64)
    order = np.argsort(np.concatenate([stream.ts for stream in data.streams]), kind="stable")
    due_ns[order] = np.arange(len(due_ns)) * gap_ms * MS
    none = tuple(np.empty(0, dtype=np.int64) for _ in lengths)
    return OfferedLoad(
        due_ns=tuple(np.split(due_ns, np.cumsum(lengths)[:-1])),
        heartbeat_ts=none,
        heartbeat_due_ns=none,
        warm_up_ns=10 * MS,
        end_ns=int(due_ns.max(initial=0)),
    )


def test_each_output_carries_the_due_time_of_the_event_that_made_it():
    data = window(value=np.array([7], dtype=np.int64))
    clock = FakeClock()

    def update(state, event, out):
        clock.pass_ns(15 * MS)
        EVENT_WINDOW.states[0].update(state, event, out)

    slow = replace(EVENT_WINDOW, states=(replace(EVENT_WINDOW.states[0], update=update),))
    load = replace(in_total_order(data, 10), warm_up_ns=0)
    prepared = PreparedReference(
        slow, data, load, pacer=partial(Pacer, clock=clock.now, sleep=clock.sleep)
    )
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
    answer = prepared.answer()
    difference = compare(expected(found, offered.dataset), answer, found.output)
    assert difference.equal, difference.render()
    assert measured.events == offered.dataset.events
    return measured


def test_a_stall_shows_in_the_latency_and_a_naive_clock_would_have_hidden_it(tmp_path):
    clock = FakeClock(read_ns=5_000)
    measured = stalled(
        tmp_path,
        rate_eps=10_000.0,
        seconds=2.0,
        stall=lambda: clock.pass_ns(STALL_NS),
        pacer=partial(Pacer, clock=clock.now, sleep=clock.sleep),
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
