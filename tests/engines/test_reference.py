"""The reference engine equals every workload's oracle, and behaves as an engine must."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.engines.conformance_load import small_load
from streamlab.engines.errors import EngineCrashError
from streamlab.engines.protocol import OfferedLoad
from streamlab.engines.reference.adapter import PreparedReference
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.load.schedule import offer
from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.measure.latency import percentiles
from streamlab.workloads.datasets.oracle_cache import expected
from streamlab.workloads.inputs.nexmark.schema import INPUT as NEXMARK
from streamlab.workloads.model import Input, Query, Window
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import workload
from streamlab.workloads.suite.event_window.program import PROGRAM as EVENT_WINDOW
from tests.engines.clock import FakeClock
from tests.engines.inputs import input_of
from tests.engines.tasks import assert_equal
from tests.examples import examples
from tests.workloads.model import naive
from tests.workloads.model.naive import Tuple
from tests.workloads.model.queries import chain
from tests.workloads.suite.small_inputs import event_time_workloads, small_inputs, values
from tests.workloads.suite.streams import generated

MS = 1_000_000
STALL_NS = 200 * MS


@pytest.mark.parametrize("name", event_time_workloads())
def test_the_reference_engine_equals_the_oracle(name):
    found = workload(name)
    made = inputs(found.program, max_events=20, values=values(found))

    @settings(max_examples=examples(150))
    @given(small_inputs(found) if found.input_name == NEXMARK else made)
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


def in_total_order(data: Input, gap_ms: int) -> OfferedLoad:
    """Return a load in which an event is due every `gap_ms`."""
    due_ns = np.arange(data.events, dtype=np.int64) * gap_ms * MS
    return small_load([stream.ts for stream in data.streams], due_ns)


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


def test_a_stall_shows_in_the_latency_and_a_naive_clock_would_have_hidden_it(tmp_path):
    clock = FakeClock(read_ns=5_000)
    found = workload("event_window")
    data = generated(found, {"values_per_barrier": 2}, 40_000, 1)
    spec = LoadSpec(rate_eps=10_000.0, warm_up_s=0.2, window_s=1.8)
    offered = offer(spec, write_dataset(data, found.name, tmp_path))
    middle_ts = offered.dataset.until_ts // 2
    stalls = []

    def update(state, event, out):
        if event.ts >= middle_ts and not stalls:
            stalls.append(event)
            clock.pass_ns(STALL_NS)
        EVENT_WINDOW.states[0].update(state, event, out)

    program = replace(EVENT_WINDOW, states=(replace(EVENT_WINDOW.states[0], update=update),))
    prepared = PreparedReference(program, offered.dataset.load(), offered.load, pacer=clock.pacer)
    measured = prepared.run()
    assert_equal(expected(found, offered.dataset), prepared.answer(), found.output)
    assert measured.events == offered.dataset.events
    latency, service = percentiles(measured.latency), percentiles(measured.service_latency)
    assert latency.count == service.count > 1_000
    # A tenth of the outputs are due in the stall; those due in its first half wait 100 ms or more.
    assert 100 * MS <= latency.p99_ns <= STALL_NS * 1.01
    assert latency.p50_ns < 1 * MS
    assert service.p99_ns < 1 * MS
    backlog = np.cumsum(measured.progress.emitted - measured.progress.consumed)
    assert backlog.max() >= 900
    assert backlog[-1] == 0


TUMBLING = Window(advance=10, size=10)


def at(*times: int, until_ts: int | None = None) -> Input:
    return naive.input_of([[Tuple(ts, 0, (4,), 1) for ts in times]], 1, until_ts)


@settings(max_examples=examples(40))
@given(naive.inputs(1), st.booleans())
def test_catch_up_and_load_give_what_the_interpreter_says(drawn, paced):
    _, ordered, until = drawn
    data = naive.input_of([ordered], 1, until)
    query = chain(Window(advance=2, size=5), TUMBLING)
    clock = FakeClock()
    load = in_total_order(data, 1) if paced else None
    prepared = PreparedReference(query, data, load, pacer=clock.pacer)
    measured = prepared.run()
    found, expected = prepared.answer(), answer_of(query, data)
    # Without any tuple there is nobody whom the end of the input could be counted for.
    if ordered:
        assert {n: c.tolist() for n, c in found.items()} == {
            n: c.tolist() for n, c in expected.items()
        }
    assert measured.events == len(ordered)
    if measured.progress is not None:
        assert measured.progress.outputs.sum() == len(found["ts"])


def latencies(query: Query, data: Input, clock: FakeClock) -> list[int]:
    """The latencies, in ms, of a run in which an event is due every 10 ms."""
    prepared = PreparedReference(query, data, in_total_order(data, 10), pacer=clock.pacer)
    latency = prepared.run().latency
    assert latency is not None
    return sorted(np.repeat(np.rint(latency.values_ns / MS).astype(int), latency.counts).tolist())


def test_an_output_is_as_late_as_the_tuple_whose_processing_emitted_it():
    clock = FakeClock()
    slow = naive.counting(TUMBLING)
    update = slow.update
    assert update is not None

    def taking_15_ms(w, t, out):
        clock.pass_ns(15 * MS)
        update(w, t, out)

    object.__setattr__(slow, "update", taking_15_ms)
    # Due at 0, 10, 20; done at 15, 30, 45. The window of the first is let go by the third, 25 ms
    # after it was due, and that of the others by nobody.
    assert latencies(naive.query(slow), at(0, 1, 10), clock) == [25]


def test_what_the_end_of_the_input_lets_go_counts_for_the_last_tuple():
    query = naive.query(naive.counting(TUMBLING))
    assert answer_of(query, at(0, 1, 10))["ts"].tolist() == [10]
    assert answer_of(query, at(0, 1, 10, until_ts=20))["ts"].tolist() == [10]
    assert answer_of(query, at(0, 1, 10, until_ts=21))["ts"].tolist() == [10, 20]
    assert latencies(query, at(0, 1, 10, until_ts=21), FakeClock()) == [0, 0]
