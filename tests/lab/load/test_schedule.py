"""The part of an input that a load offers, with due times and heartbeats."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from streamlab.engines.protocol import FULL
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.errors import LoadError
from streamlab.lab.load.schedule import offer
from streamlab.lab.load.spec import BURSTS, CONSTANT, POISSON, REPLAY, STEP, LoadSpec
from streamlab.workloads.model import Alphabet, Input, Stream
from streamlab.workloads.registry import workload
from tests.examples import examples
from tests.workloads.suite.streams import generated

EVENT_WINDOW = workload("event_window")
LIMITS = settings(deadline=None, max_examples=examples(60))


def spec(arrival=CONSTANT, rate_eps=1_000.0, **changes):
    fields = {"warm_up_s": 0.02, "window_s": 0.08, "seed": 1, "heartbeat_ms": 5.0, **changes}
    return LoadSpec(arrival=arrival, rate_eps=rate_eps, **fields)


def dataset_of(tmp_path, *times):
    streams = tuple(
        Stream(name=f"s{index}", kinds=(0,), ts=np.array(ts, dtype=np.int64))
        for index, ts in enumerate(times)
    )
    data = Input(alphabet=Alphabet(kinds=EVENT_WINDOW.program.kinds), streams=streams)
    return write_dataset(data, "event_window", tmp_path / "data")


def in_total_order(dataset, load):
    """Return (ts, due) of all events in total order."""
    streams = dataset.load().streams
    ts = np.concatenate([stream.ts for stream in streams])
    order = np.argsort(ts, kind="stable")
    return ts[order], np.concatenate(load.due_ns)[order]


def test_events_are_due_in_total_order_whatever_stream_they_are_in(tmp_path):
    whole = dataset_of(tmp_path, [1, 3, 3], [1, 2, 3])
    offered = offer(spec(rate_eps=10.0, warm_up_s=0.1, window_s=0.5), whole)
    first, second = offered.load.due_ns
    assert [due // 100_000_000 for due in first.tolist()] == [0, 3, 4]
    assert [due // 100_000_000 for due in second.tolist()] == [1, 2, 5]
    assert offered.load.warm_up_ns == 100_000_000
    assert offered.load.end_ns == 600_000_000


def test_the_cut_goes_down_to_the_grid_of_the_answer(tmp_path):
    whole = dataset_of(tmp_path, [1, 2, 2, 2, 7], [2, 3, 9])
    rates = spec(rate_eps=10.0, warm_up_s=0.1, window_s=0.5)  # 6 events needed
    assert offer(rates, whole).dataset.until_ts == 4
    offered = offer(rates, whole, grid=3)
    assert offered.dataset.until_ts == 3
    ts, due = in_total_order(offered.dataset, offered.load)
    assert ts.tolist() == [1, 2, 2, 2, 2]
    assert due.tolist() == [k * 100_000_000 for k in range(5)]
    assert offered.load.end_ns == 600_000_000
    with pytest.raises(LoadError, match=r"end at a multiple of 10 in event time"):
        offer(rates, whole, grid=10)


def test_the_cut_keeps_whole_event_times_on_schedule(tmp_path):
    whole = dataset_of(tmp_path, [1, 2, 2, 2, 7], [2, 2, 9])
    offered = offer(spec(rate_eps=10.0, warm_up_s=0.1, window_s=0.2), whole)  # 3 events needed
    assert offered.dataset.until_ts == 3
    assert [stream.rows for stream in offered.dataset.streams] == [4, 2]
    ts, due = in_total_order(offered.dataset, offered.load)
    assert ts.tolist() == [1, 2, 2, 2, 2, 2]
    assert due.tolist() == [k * 100_000_000 for k in range(6)]
    assert offered.load.end_ns == 500_000_000


def test_a_stream_without_events_gets_the_heartbeats_of_the_others(tmp_path):
    whole = dataset_of(tmp_path, range(200), [])
    load = offer(spec(), whole).load
    assert [len(due) for due in load.due_ns] == [100, 0]
    # Event k is due at k ms: at 5 ms the next that is not due is event 6.
    assert load.heartbeat_due_ns[1].tolist()[:2] == [5_000_000, 10_000_000]
    assert load.heartbeat_ts[1].tolist()[:2] == [5, 10]
    assert load.heartbeat_ts[1][-1] == 99
    assert load.heartbeat_due_ns[1][-1] == 99_000_000


def test_batching_and_heartbeat_period_are_passed_on(tmp_path):
    whole = dataset_of(tmp_path, range(200), [])
    load = offer(spec(batching=FULL, heartbeat_ms=20.0), whole).load
    assert load.batching == FULL
    assert load.heartbeat_due_ns[1].tolist() == [k * 1_000_000 for k in (20, 40, 60, 80, 99)]


@pytest.fixture
def windows(tmp_path):
    """Two streams of values, and a barrier after each 10 values of a stream: a tick, 2 events."""
    data = generated(EVENT_WINDOW, {"values_per_barrier": 10}, 2_000, 1)
    return write_dataset(data, "event_window", tmp_path / "data")


@pytest.mark.parametrize("per_barrier", [1, 2, 5])
def test_heartbeats_per_barrier_come_as_often_at_any_rate(windows, per_barrier):
    for rate_eps in (500.0, 5_000.0):
        load = offer(
            spec(rate_eps=rate_eps, window_s=1_000 / rate_eps, heartbeats_per_barrier=per_barrier),
            windows,
            program=EVENT_WINDOW.program,
        ).load
        barriers = len(load.due_ns[2])
        assert barriers > 40
        # A beat that says no more than the one before is not sent, such as the last of all.
        assert len(load.heartbeat_ts[2]) == pytest.approx(barriers * per_barrier, abs=2)


def test_heartbeats_per_barrier_want_something_that_synchronizes(windows, tmp_path):
    expected = spec(heartbeats_per_barrier=10.0)
    with pytest.raises(LoadError, match="is not a DGS program and has none; use heartbeat_ms"):
        offer(expected, windows, program=workload("scale_join").program)
    values = dataset_of(tmp_path / "values", range(200), [])
    with pytest.raises(LoadError, match="none of the 100 events of this load synchronizes; offer"):
        offer(expected, values, program=EVENT_WINDOW.program)
    with pytest.raises(
        LoadError, match=r"= 1e\+06 means a heartbeat every 2.*e-05 ms with .* lower heart"
    ):
        offer(spec(heartbeats_per_barrier=1e6), windows, program=EVENT_WINDOW.program)


@pytest.mark.parametrize("arrival", [CONSTANT, POISSON, BURSTS, STEP])
def test_too_few_events_are_an_error_that_names_a_rate_that_works(tmp_path, arrival):
    data = generated(EVENT_WINDOW, {"values_per_barrier": 5}, 1_000, 1)
    whole = write_dataset(data, "event_window", tmp_path / "data")
    expected = spec(arrival, 50_000.0, window_s=0.98)
    pattern = (
        rf"{arrival} arrivals at 50000 events/s for 1 s .* need about \d+,\d+ events, "
        rf"the input has {whole.events:,}; use more `events`, a rate_eps of at most [\d,.]+, "
        r"or a shorter window_s"
    )
    with pytest.raises(LoadError, match=pattern) as caught:
        offer(expected, whole)
    feasible = caught.value.feasible_eps
    assert feasible is not None
    offered = offer(replace(expected, rate_eps=feasible), whole)
    assert offered.dataset.events > 0.99 * whole.events
    with pytest.raises(LoadError):
        offer(replace(expected, rate_eps=1.01 * feasible), whole)


def test_an_empty_input_cannot_be_offered(tmp_path):
    with pytest.raises(LoadError, match="has no events"):
        offer(spec(), dataset_of(tmp_path, [], []))


def test_a_load_without_a_due_event_is_an_error(tmp_path):
    with pytest.raises(LoadError, match=r"no event is due within 0\.1 s at 0\.001 events/s; raise"):
        offer(spec(POISSON, 0.001), dataset_of(tmp_path, range(10), []))


def test_a_replay_is_cut_where_its_own_times_end(tmp_path):
    # 1 ms a tick, twice as fast: 0.1 s is 200 ticks.
    whole = dataset_of(tmp_path, range(1_000, 1_500), [1_100, 1_199, 1_200])
    offered = offer(spec(REPLAY, None, params={"speed_up": 2.0}), whole)
    assert offered.dataset.until_ts == 1_200
    assert [stream.rows for stream in offered.dataset.streams] == [200, 2]
    assert offered.load.due_ns[1].tolist() == [50_000_000, 99_500_000]


def test_a_replay_that_is_too_short_is_an_error_that_says_how_long_it_lasts(tmp_path):
    whole = dataset_of(tmp_path, range(51), [])
    expected = "lasts 0.051 s at speed_up = 1 and tick_ns = 1e.06, .* is 0.1 s; lower speed_up"
    with pytest.raises(LoadError, match=expected) as caught:
        offer(spec(REPLAY, None), whole)
    assert caught.value.feasible_eps is None
    offer(spec(REPLAY, None, params={"speed_up": 0.5}), whole)


def test_the_same_specification_gives_the_same_load(tmp_path):
    whole = dataset_of(tmp_path, range(300), range(0, 300, 7))
    first, second = (offer(spec(POISSON), whole).load for _ in range(2))
    for name in ("due_ns", "heartbeat_ts", "heartbeat_due_ns"):
        for a, b in zip(getattr(first, name), getattr(second, name), strict=True):
            assert np.array_equal(a, b)


TIMES = st.lists(st.integers(0, 30), max_size=40).map(sorted)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("offered")


@LIMITS
@given(
    times=st.lists(TIMES, min_size=1, max_size=4).filter(any),
    arrival=st.sampled_from([CONSTANT, POISSON, BURSTS, STEP, REPLAY]),
    rate=st.integers(20, 200),
    heartbeat_ms=st.sampled_from([0.5, 3.0, 40.0]),
    seed=st.integers(0, 3),
)
def test_heartbeats_keep_their_promise(folder, times, arrival, rate, heartbeat_ms, seed):
    whole = dataset_of(folder, *times)
    params = {"on_s": 0.01, "off_s": 0.02} if arrival == BURSTS else {}
    params |= {"at_s": 0.05} if arrival == STEP else {}
    rate_eps = None if arrival == REPLAY else float(rate)
    expected = spec(arrival, rate_eps, seed=seed, heartbeat_ms=heartbeat_ms, params=params)
    try:
        offered = offer(expected, whole)
    except LoadError:
        return
    load = offered.load
    in_order, due = in_total_order(offered.dataset, load)
    assert (np.diff(due) >= 0).all()
    assert offered.dataset.events == len(due) > 0
    assert load.end_ns >= due[-1]
    period_ns = round(heartbeat_ms * 1e6)
    everywhere = [stream.ts for stream in offered.dataset.load().streams]
    for index, ts in enumerate(everywhere):
        beats, at = load.heartbeat_ts[index], load.heartbeat_due_ns[index]
        assert (np.diff(beats) > 0).all()
        assert (np.diff(at) > 0).all()
        for beat, when in zip(beats.tolist(), at.tolist(), strict=True):
            for other, other_due in zip(everywhere, load.due_ns, strict=True):
                assert (other[other_due > when] > beat).all()
            sent = ts[load.due_ns[index] <= when]
            assert len(sent) == 0 or sent[-1] <= beat
        # Nobody waits for longer than a period: at each beat, all that has passed is known.
        for when in range(period_ns, int(due[-1]), period_ns):
            undue = np.concatenate(
                [
                    other[other_due > when]
                    for other, other_due in zip(everywhere, load.due_ns, strict=True)
                ]
            )
            passed = undue.min() - 1
            if passed < in_order[0]:
                continue  # nothing has passed yet
            sent = ts[load.due_ns[index] <= when]
            known = beats[at <= when]
            assert passed in known or (len(sent) and sent[-1] > passed)
