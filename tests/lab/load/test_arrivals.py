"""Arrival processes: due times at a mean rate."""

import numpy as np
import pytest
from scipy import stats

from streamlab.lab.load.arrivals import due_times, expected_events, feasible_eps, replay_times
from streamlab.lab.load.spec import BURSTS, CONSTANT, POISSON, REPLAY, STEP, LoadSpec

RATED = (CONSTANT, POISSON, BURSTS, STEP)


def spec(arrival, rate_eps=1_000.0, *, seconds=20.0, seed=1, **params):
    return LoadSpec(
        arrival=arrival,
        rate_eps=rate_eps,
        warm_up_s=seconds / 4,
        window_s=seconds * 3 / 4,
        seed=seed,
        params=params,
    )


def test_constant_arrivals_are_due_at_multiples_of_the_gap():
    assert due_times(spec(CONSTANT, 4.0), 5).tolist() == [
        0,
        250_000_000,
        500_000_000,
        750_000_000,
        1_000_000_000,
    ]


def test_constant_arrivals_keep_a_rate_whose_gap_is_no_whole_number():
    due = due_times(spec(CONSTANT, 3e6), 3_000_001)
    assert due[-1] == 1_000_000_000
    assert set(np.diff(due).tolist()) == {333, 334}


@pytest.mark.parametrize("arrival", RATED)
@pytest.mark.parametrize("count", [0, 1, 65_536, 65_537, 200_000])
def test_a_longer_schedule_begins_with_the_shorter_one(arrival, count):
    whole = due_times(spec(arrival), 250_000)
    assert np.array_equal(due_times(spec(arrival), count), whole[:count])
    assert whole.dtype == np.int64
    assert whole[0] >= 0
    assert (np.diff(whole) >= 0).all()


def test_the_seed_and_nothing_else_decides_random_arrivals():
    first = due_times(spec(POISSON, seed=1), 10_000)
    assert np.array_equal(first, due_times(spec(POISSON, seed=1), 10_000))
    assert not np.array_equal(first, due_times(spec(POISSON, seed=2), 10_000))


def test_random_arrivals_are_the_same_on_every_machine():
    assert due_times(spec(POISSON), 4).tolist() == [1073029, 1381482, 6756919, 7123346]


def test_poisson_gaps_are_exponential_with_the_mean_of_the_rate():
    due = due_times(spec(POISSON, 1e5), 200_000)
    gaps = np.diff(due, prepend=0)
    # 4 standard errors of a mean of 200,000 exponential gaps are 0.9 %.
    assert gaps.mean() == pytest.approx(1e4, rel=0.009)
    assert stats.kstest(gaps, stats.expon(scale=1e4).cdf).pvalue > 0.01


def test_poisson_gaps_do_not_depend_on_each_other():
    gaps = np.diff(due_times(spec(POISSON, 1e5), 200_000), prepend=0)
    assert abs(np.corrcoef(gaps[:-1], gaps[1:])[0, 1]) < 4 / np.sqrt(len(gaps))


@pytest.mark.parametrize("arrival", [CONSTANT, POISSON])  # bursts keep their length
def test_at_twice_the_rate_the_same_gaps_are_half_as_long(arrival):
    slow, fast = due_times(spec(arrival, 1e3), 5_000), due_times(spec(arrival, 2e3), 5_000)
    assert np.abs(slow - 2 * fast).max() <= 2


@pytest.mark.parametrize(("on_s", "off_s"), [(0.1, 0.1), (0.05, 0.15), (0.3, 0.7)])
def test_bursts_send_only_while_on_and_keep_the_mean(on_s, off_s):
    period = on_s + off_s
    due = due_times(spec(BURSTS, 1e4, on_s=on_s, off_s=off_s), 100_000) / 1e9
    place = due % period
    assert np.minimum(place, period - place)[place > on_s].max(initial=0.0) < 1e-8
    assert due[-1] == pytest.approx(10.0, abs=period)
    per_burst = np.bincount(np.floor(due / period + 1e-7).astype(int))[:-1]
    assert set(per_burst.tolist()) == {round(1e4 * period)}
    on = np.diff(due)[:100]
    assert on.mean() == pytest.approx(1e-4 * on_s / period, rel=1e-3)


def test_a_step_changes_the_rate_once_at_its_time():
    subject = spec(STEP, 700.0, at_s=4.0, factor=12 / 7)
    due = due_times(subject, 22_000)
    before, after = due[due < 4_000_000_000], due[due > 4_000_000_000]
    assert len(before) == pytest.approx(2_800, abs=1)
    assert set(np.diff(before).tolist()) <= {1428571, 1428572}
    assert set(np.diff(after).tolist()) <= {833333, 833334}
    assert expected_events(subject) == pytest.approx(4 * 700 + 16 * 1200)


def test_a_step_that_comes_after_the_window_changes_nothing():
    assert np.array_equal(
        due_times(spec(STEP, 1e3, at_s=20.0, factor=3.0), 20_000),
        due_times(spec(CONSTANT, 1e3), 20_000),
    )


def test_a_replay_keeps_the_recorded_gaps_and_speeds_them_up():
    ts = np.array([100, 100, 103, 110], dtype=np.int64)
    assert replay_times(spec(REPLAY, None), ts).tolist() == [0, 0, 3_000_000, 10_000_000]
    fast = spec(REPLAY, None, speed_up=10.0)
    assert replay_times(fast, ts).tolist() == [0, 0, 300_000, 1_000_000]
    seconds = spec(REPLAY, None, tick_ns=1e9)
    assert replay_times(seconds, ts)[-1] == 10_000_000_000


@pytest.mark.parametrize("arrival", RATED)
def test_the_highest_feasible_rate_uses_all_events_and_no_more(arrival):
    events = 30_000
    highest = feasible_eps(spec(arrival), events)

    def needed(rate_eps):
        return int(np.searchsorted(due_times(spec(arrival, rate_eps), 2 * events), 20 * 10**9))

    assert needed(highest) <= events
    assert needed(highest * 1.001) > events
