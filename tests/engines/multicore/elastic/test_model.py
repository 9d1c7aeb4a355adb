import math

import numpy as np
import pytest

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore.oplus.elastic.controller import make_controller
from streamlab.engines.multicore.oplus.elastic.model import Arrivals
from tests.engines.multicore.elastic.simulation import (
    SimulatedJoin,
    phases,
    piecewise,
    seen,
    steered,
)

COMPARISON_S = 6e-9
TUPLE_S = 1e-6
WINDOW_S = 60.0


def join_of(rate, maximum=24, jitter=None):
    return SimulatedJoin(
        rate=rate,
        instances=1,
        maximum=maximum,
        comparison_s=COMPARISON_S,
        tuple_s=TUPLE_S,
        window_s=WINDOW_S,
        jitter=jitter,
    )


def phase_join(seed, *, jitter):
    """Section 8.5: 20 minutes of 500 to 8,000 t/s in phases of 100 to 300 s, WS 1 min."""
    starts, rates = phases(seed, low=500, high=8_000, shortest_s=100, longest_s=300, total_s=1_200)
    random = np.random.default_rng(seed) if jitter else None
    join = join_of(piecewise(starts, rates), jitter=random)
    steered(join, {"kind": "model"}, 1_200)
    return join, starts, rates


def busy_instances(rate_eps):
    """Return the load of the full windows of a rate, in instances."""
    return 2 * (rate_eps / 2) ** 2 * WINDOW_S * COMPARISON_S


@pytest.mark.some(1)
@pytest.mark.parametrize(("seed", "jitter"), [(3, True), (1, False), (2, False)])
def test_backlog_is_bounded_and_nothing_flaps_in_random_phases(seed, jitter):
    join, starts, rates = phase_join(seed, jitter=jitter)
    waited_s = np.array([waited for _, waited in join.waited])
    # The paper: spikes are handled within 10 s, about 20 ms on average.
    assert waited_s.max() < 1.0
    assert waited_s.mean() < 0.02
    assert not join.queue
    for start, end, rate in zip(starts, [*starts[1:], 1_200.0], rates, strict=True):
        calls = [(at, n, to) for at, n, to in join.calls if start < at <= end]
        ups = sum(to > n for _, n, to in calls)
        # One direction, and a step for each instance at most; the other way once at most, for
        # what the old rate's windows still ask for.
        assert min(ups, len(calls) - ups) <= 1
        if calls:
            assert len(calls) <= abs(calls[-1][2] - calls[0][1]) + 2
        settled = [at for at, *_ in calls if at > start + WINDOW_S + 20]
        assert len(settled) <= 1
        if end - start > WINDOW_S + 20:
            load = busy_instances(rate)
            count = calls[-1][2] if calls else None
            if count is not None:
                assert load <= 0.82 * count
                assert count == 1 or load > 0.68 * (count - 1)


def test_a_jump_too_high_for_one_instance_is_met_before_its_windows_are_full():
    join = join_of(lambda t: 1_000 if t < 120 else 8_000)
    steered(join, {"kind": "model"}, 200)
    after = [(at, to) for at, _, to in join.calls if at > 120]
    assert after[0][0] < 122
    assert [to for _, to in after] == sorted({to for _, to in after})  # one by one, as they fill
    assert after[-1][1] == math.ceil(busy_instances(8_000) / (0.8 - 8_000 * TUPLE_S))
    assert max(waited for _, waited in join.waited) < 0.2


def test_a_maximum_that_is_too_low_is_reached_and_holds():
    join = join_of(lambda t: 8_000, maximum=3)
    steered(join, {"kind": "model"}, 60)
    assert [to for *_, to in join.calls] == [2, 3]


def look(time_s, arrived, *, instances=1, pending=None, windows=None, **changes):
    fields = {
        "busy": (0.5,) * instances,
        "comparison_s": 1e-3,
        "tuple_s": 0.0 if windows is None else 1e-9,
        "pending": pending or tuple(0 for _ in arrived or ()),
        **changes,
    }
    return seen(time_s=time_s, instances=instances, arrived=arrived, windows=windows, **fields)


def wanted(seen_each, **options):
    controller, _ = make_controller({"kind": "model", **options})
    decision = None
    for observation in seen_each:
        decision = controller.decide(observation)
    return None if decision is None else decision.instances


def looks(rates, count=21, **changes):
    """Return looks, one a second, at inputs of constant rates."""
    return [look(float(t), tuple(rate * t for rate in rates), **changes) for t in range(count)]


def test_work_is_rate_by_rate_and_the_cross_terms_of_the_windows():
    # 100 and 10 t/s; windows hold the tuples of 10 s at these rates, so that as many come as go:
    # 100 * 100 + 10 * 1000 comparisons/s at 1 ms are 20 busy instances; 20 / 0.8 = 25.
    assert wanted(looks((100, 10), windows=(1000, 100)), tuple_ns=0.001) == 25
    # Windows that only fill: + r s h: 100 * (100 + 5) + 10 * (1000 + 50) = 21 instances' work.
    filling = looks((100, 10), windows=(1000, 100), window_s=99)
    assert wanted(filling, tuple_ns=0.001) == 27


def test_looking_further_ahead_than_the_window_is_long_finds_the_same_window():
    # Windows of half a second, full: 2 * 100 * 50 comparisons/s at 1 ms are 10 busy instances. The
    # second ahead brings 100 tuples a side and takes 100 away.
    short = looks((100, 100), windows=(50, 50), window_s=0.5)
    assert wanted(short, tuple_ns=0.001) == math.ceil(10 / 0.8)
    assert wanted(short, tuple_ns=0.001, ahead_s=0.5) == math.ceil(10 / 0.8)


def test_pending_work_must_be_done_within_the_declared_time():
    idle = looks((0, 0), windows=(100, 200), pending=(30, 10))
    # 30 * 200 + 10 * 100 + 30 * 10 = 7,300 pairs of 1 ms; a window of 110 after what is pending.
    assert wanted(idle, tuple_ns=0.001) == math.ceil(7.3 / 0.8)
    assert wanted(idle, tuple_ns=0.001, drain_s=0.1) == math.ceil(73 / 0.8)


def test_work_of_every_instance_on_every_tuple_lowers_the_capacity():
    steady = looks((100, 10), windows=(1000, 100))
    # 110 t/s at 2 ms are 22 % of each instance: 20 / (0.8 - 0.22) = 34.5.
    assert wanted(steady, tuple_ns=2e6) == 35
    assert wanted(steady, tuple_ns=1e7) == 100  # more than all of it: no number would do


def test_instances_are_removed_after_the_hold_and_down_to_the_lower_bound():
    forty = {"windows": (1000, 100), "instances": 40}
    assert wanted(looks((100, 10), 14, **forty), tuple_ns=0.001, hold_s=13.5) is None
    # The most of the time counts: 21 / 0.7, from when the windows only filled; not 20 / 0.7 = 28.6.
    assert wanted(looks((100, 10), 16, **forty), tuple_ns=0.001, hold_s=13.5) == 30


def test_an_operator_without_windows_works_by_tuples():
    costs = {"tuple_s": 0.01, "comparison_s": None}
    assert wanted(looks((300,), 5, **costs)) == 4  # 3 busy instances
    assert wanted(looks((300,), 5, pending=(500,), **costs)) == 10


def test_uncounted_arrivals_are_an_error_that_names_the_remedy():
    controller, _ = make_controller({"kind": "model"})
    with pytest.raises(UnsupportedError, match=r"needs the number of arriving tuples.* thresholds"):
        controller.decide(look(1.0, None))


def test_arrivals_are_remembered_as_far_as_a_window_reaches():
    arrivals = Arrivals(keep_s=5.0)
    for tenth in range(10_000):
        arrivals.add(tenth / 10, (tenth, 2 * tenth))
        if tenth == 30:
            assert arrivals.between(-2.0, 1.0) == pytest.approx((10, 20))
    assert arrivals.between(995.03, 997.08) == pytest.approx((20.5, 41))
    assert arrivals.rates(998.9, 999.9) == pytest.approx((10, 20))
    assert len(arrivals._times_s) < 500
