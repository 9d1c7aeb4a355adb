"""The reference engine on queries: under a load, at the end of the input, and as an engine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.engines.errors import EngineCrashError
from streamlab.engines.protocol import OfferedLoad
from streamlab.engines.reference.adapter import PreparedReference
from streamlab.workloads.model import Input, Query, Window
from streamlab.workloads.model.reference import answer_of
from tests.engines.clock import FakeClock, load_of
from tests.examples import examples
from tests.workloads.model import naive
from tests.workloads.model.naive import Tuple
from tests.workloads.model.queries import chain

MS = 1_000_000
TUMBLING = Window(advance=10, size=10)


def due_every(data: Input, gap_ms: int) -> OfferedLoad:
    """A load in which the only stream's events are due one after another."""
    return load_of([np.arange(data.events) * gap_ms * MS])


def at(*times: int, until_ts: int | None = None) -> Input:
    return naive.input_of([[Tuple(ts, 0, (4,), 1) for ts in times]], 1, until_ts)


@settings(max_examples=examples(40))
@given(naive.inputs(1), st.booleans())
def test_catch_up_and_load_give_what_the_interpreter_says(drawn, paced):
    _, ordered, until = drawn
    data = naive.input_of([ordered], 1, until)
    query = chain(Window(advance=2, size=5), TUMBLING)
    clock = FakeClock()
    prepared = PreparedReference(
        query,
        data,
        due_every(data, 1) if paced else None,
        pacer=clock.pacer,
    )
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
    prepared = PreparedReference(
        query,
        data,
        due_every(data, 10),
        pacer=clock.pacer,
    )
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


def test_a_failing_function_is_a_crash_that_names_query_and_cause():
    operator = naive.counting(TUMBLING)
    object.__setattr__(operator, "update", lambda w, t, out: w[1].count)
    prepared = PreparedReference(naive.query(operator), at(0))
    with pytest.raises(EngineCrashError, match="program query raised IndexError") as caught:
        prepared.run()
    assert isinstance(caught.value.__cause__, IndexError)
