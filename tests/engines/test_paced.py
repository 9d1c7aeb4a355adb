"""The virtual source hands events over when they are due, and what it records adds up."""

import time

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from streamlab.engines.pacer import SPIN_NS, Pacer
from streamlab.engines.recording import OpenRun, histogram, measured, progress
from tests.engines.clock import FakeClock, load_of

MS = 1_000_000


def times(*values):
    return np.array(values, dtype=np.int64)


def paced(due_ms, busy_ms):
    """Take events that keep the engine busy for so long each; return the pacer and the clock."""
    clock = FakeClock()
    pacer = clock.pacer(times(*due_ms) * MS)
    rows = []
    for event in pacer.take(range(len(due_ms)), rows):
        clock.pass_ns(busy_ms[event] * MS)
        if event % 2:
            rows.extend(["output"] * 2)
    return pacer, clock


def test_no_event_is_taken_before_it_is_due_and_none_waits_for_another():
    pacer, _ = paced([0, 10, 20, 21, 50], [1, 15, 1, 1, 1])
    assert (pacer.taken_ns // MS).tolist() == [0, 10, 25, 26, 50]
    assert (pacer.done_ns // MS).tolist() == [1, 25, 26, 27, 51]


def test_a_wait_ends_at_most_a_look_at_the_clock_late():
    pacer, clock = paced([5, 10, 15], [0, 0, 0])
    assert (pacer.taken_ns - times(5, 10, 15) * MS).max() <= clock.read_ns
    assert clock.slept_ns == pytest.approx(15 * MS - 3 * SPIN_NS, abs=100 * clock.read_ns)


def test_outputs_belong_to_the_event_that_made_them():
    pacer, _ = paced([0, 1, 2, 3], [0, 0, 0, 0])
    assert pacer.made_by.tolist() == [1, 1, 3, 3]


def test_the_source_keeps_time_by_the_real_clock():
    due = np.arange(0, 50 * MS, 5 * MS)
    pacer = Pacer(due)
    begin = time.monotonic_ns()
    assert list(pacer.take(range(10))) == list(range(10))
    assert time.monotonic_ns() - begin >= 45 * MS
    assert (pacer.taken_ns >= due).all()
    assert (pacer.done_ns >= pacer.taken_ns).all()


def test_a_source_without_events_takes_none():
    pacer = Pacer(times())
    assert list(pacer.take([])) == []
    assert len(pacer.taken_ns) == len(pacer.done_ns) == len(pacer.made_by) == 0


@given(st.lists(st.integers(-5, 4000 * 10**9), max_size=50))
def test_histograms_have_the_buckets_of_hdrhistogram_with_three_digits(values):
    found = histogram(np.array(values, dtype=np.int64), "a test")
    other = HdrHistogram(1, 3600 * 10**9, 3)
    inside = np.clip(np.array(values, dtype=np.int64), 0, 3600 * 10**9)
    expected = [other.get_highest_equivalent_value(value) for value in inside.tolist()]
    assert np.repeat(found.values_ns, found.counts).tolist() == sorted(expected)
    assert (np.diff(found.values_ns) > 0).all()
    assert (found.counts > 0).all()


def test_histograms_have_the_buckets_of_the_core():
    core = pytest.importorskip(
        "streamlab.engines.multicore._core", reason="the native core is not built"
    )
    found = histogram(2 ** np.arange(42, dtype=np.int64), "a test")
    highest = {core.bucket_value(index) for index in range(40_000)}
    assert set(found.values_ns.tolist()) <= highest


def test_progress_counts_everything_once_on_the_grid():
    found = progress(
        sent_ns=times(0, 50, 150) * MS,
        done_ns=times(60, 260, 320) * MS,
        emit_ns=times(260, 260, 320) * MS,
        latency_ns=times(210, 110, 170) * MS,
    )
    assert found.step_ns == 100 * MS
    assert found.emitted.tolist() == [2, 1, 0, 0]
    assert found.consumed.tolist() == [1, 0, 1, 1]
    assert found.outputs.tolist() == [0, 0, 2, 1]
    assert found.latency_p50_ns.tolist() == [-1, -1, 110 * MS, 170 * MS]
    assert found.latency_p99_ns.tolist() == [-1, -1, 210 * MS, 170 * MS]
    assert found.latency_max_ns.tolist() == [-1, -1, 210 * MS, 170 * MS]


def test_progress_of_outputs_that_are_not_in_order_is_the_same():
    random = np.random.default_rng(1)
    emit, latency = random.integers(0, 1000 * MS, 500), random.integers(0, 9 * MS, 500)
    order = np.argsort(emit)
    one, two = (
        progress(sent_ns=emit, done_ns=emit, emit_ns=emit[rows], latency_ns=latency[rows])
        for rows in (order, np.arange(500))
    )
    for name in ("outputs", "latency_p50_ns", "latency_p99_ns", "latency_max_ns"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


def offered(due_ms, warm_up_ms=0):
    return load_of([times(*due_ms) * MS], warm_up_ns=warm_up_ms * MS, end_ns=100 * MS)


def run_of(due_ms, taken_ms, done_ms, made_by, sent_ms=None):
    return OpenRun(
        due_ns=times(*due_ms) * MS,
        taken_ns=times(*taken_ms) * MS,
        done_ns=times(*done_ms) * MS,
        made_by=times(*made_by),
        sent_ns=None if sent_ms is None else times(*sent_ms) * MS,
    )


def values_ms(found):
    return (np.repeat(found.values_ns, found.counts) // MS).tolist()


def test_latency_counts_from_when_an_event_was_due_and_service_from_when_it_was_taken():
    due = [0, 10, 20, 30]
    found = measured(run_of(due, [0, 10, 40, 41], [1, 40, 41, 42], [0, 1, 3]), offered(due, 10))
    assert values_ms(found.warm_up_latency) == [1]
    assert values_ms(found.latency) == [12, 30]
    assert values_ms(found.service_latency) == [1, 30]
    assert found.events == 4


def test_a_virtual_source_has_no_lag_and_has_sent_all_due_events():
    due = [0, 10, 100, 101]
    sent = measured(run_of(due, due, due, []), offered(due)).sent
    assert (sent.own_thread, sent.events, len(sent.lag.counts)) == (False, 3, 0)


def test_a_source_that_lags_says_so_and_has_sent_what_it_has_sent():
    due = [0, 10, 90]
    sent = measured(run_of(due, due, due, [], [20, 30, 110]), offered(due)).sent
    assert (sent.own_thread, sent.events) == (True, 2)
    assert values_ms(sent.lag) == [20, 20, 20]
