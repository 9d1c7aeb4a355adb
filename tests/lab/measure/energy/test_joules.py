"""Joules from counters that wrap, fail or stand still."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.lab.measure.energy.joules import (
    advance,
    joules_between,
    lost_spans,
    track,
    union_s,
    wraps_between,
)
from streamlab.lab.measure.energy.provider import Domain, Reading, gross_domains, kind_of
from tests.lab.measure.energy.scripted import RANGE_UJ, SECOND, steady

PACKAGE = Domain(name="package-0", range_uj=RANGE_UJ)


@pytest.mark.parametrize(
    ("before", "after", "range_uj", "interval_s", "went"),
    [
        (100, 250, RANGE_UJ, 0.1, 150),
        (100, 100, RANGE_UJ, 0.1, 0),
        (RANGE_UJ - 100, 50, RANGE_UJ, 0.1, 150),
        (100, 250, None, 0.1, 150),
        (900, 50, None, 0.1, None),  # backwards without a range
        (RANGE_UJ + 1, 50, RANGE_UJ, 0.1, None),  # above its own range
        (RANGE_UJ // 2, 0, RANGE_UJ, 0.1, None),  # a reset: no power explains this wrap
        (0, RANGE_UJ // 2, RANGE_UJ, 0.1, None),  # another host's counter
        (100, 250, RANGE_UJ, 60.0, None),  # a whole round could hide in here
        (100, 250, None, 60.0, 150),  # nothing wraps where there is no range
    ],
)
def test_a_counter_advances_by_at_most_one_wrap_and_only_as_power_can(
    before, after, range_uj, interval_s, went
):
    step = advance(before, after, range_uj=range_uj, interval_s=interval_s)
    assert (None if isinstance(step, str) else step) == went


@given(
    start=st.integers(0, RANGE_UJ - 1),
    steps=st.lists(st.integers(0, 400_000_000), min_size=1, max_size=200),
)
def test_energy_survives_any_number_of_wraps(start, steps):
    """Up to 4 kW read at 10 Hz: 200 steps pass the range at most once; small ranges many times."""
    for range_uj in (RANGE_UJ, 1_100_000_000):
        counters = [start % range_uj]
        for step in steps:
            counters.append((counters[-1] + step) % range_uj)
        readings = [
            Reading(time_ns=i * SECOND // 10, counters_uj={"package-0": uj})
            for i, uj in enumerate(counters)
        ]
        found = track(Domain(name="package-0", range_uj=range_uj), readings)
        assert not found.lost.any()
        assert found.joules[-1] == pytest.approx(sum(steps) / 1e6)
        crossed = (counters[0] + sum(steps)) // range_uj
        assert wraps_between(found, 0, readings[-1].time_ns) == crossed
        assert (np.diff(found.joules) >= 0).all()


def test_a_failed_reading_loses_nothing_when_the_next_one_succeeds():
    found = track(PACKAGE, steady({"package-0": 50.0}, 10, failed={40, 41, 42}))
    assert joules_between(found, 0, 10 * SECOND) == pytest.approx(500)
    assert lost_spans(found, 0, 10 * SECOND) == []
    assert found.reasons == ("gone",)


def test_a_gap_that_the_provider_declares_is_lost_even_when_the_counter_went_on():
    readings = steady({"package-0": 50.0}, 1)
    readings[5] = Reading(
        time_ns=readings[5].time_ns,
        counters_uj=readings[5].counters_uj,
        gaps=frozenset({"package-0"}),
    )
    assert lost_spans(track(PACKAGE, readings), 0, SECOND) == [(400_000_000, 500_000_000)]


def test_one_reading_without_a_tick_is_no_freeze():
    readings = steady({"package-0": 50.0}, 10)
    readings[50] = Reading(time_ns=readings[50].time_ns, counters_uj=readings[49].counters_uj)
    assert lost_spans(track(PACKAGE, readings), 0, 10 * SECOND) == []


def test_edges_between_two_readings_are_interpolated():
    found = track(PACKAGE, steady({"package-0": 50.0}, 10))
    assert joules_between(found, 1_234_567_890, 5_234_567_890) == pytest.approx(200)


def test_outside_the_readings_everything_is_lost():
    found = track(PACKAGE, steady({"package-0": 50.0}, 2))
    spans = lost_spans(found, -SECOND, 3 * SECOND)
    assert spans == [(-SECOND, 0), (2 * SECOND, 3 * SECOND)]
    assert lost_spans(track(PACKAGE, []), 0, SECOND) == [(0, SECOND)]


def test_lost_time_of_several_counters_is_counted_once():
    assert union_s([(0, SECOND), (0, SECOND), (SECOND // 2, 2 * SECOND), (5, 6)]) == 2.0
    assert union_s([(-SECOND, SECOND), (3 * SECOND, 4 * SECOND)]) == 3.0
    assert union_s([]) == 0


@pytest.mark.parametrize(
    ("domains", "gross"),
    [
        (["package-0", "core-0", "uncore-0", "dram-0", "psys"], ["package-0", "dram-0"]),
        (["package-0", "package-1"], ["package-0", "package-1"]),
        (["psys", "core-0"], ["psys"]),
        (["core-0", "dram-0", "accelerator"], []),
    ],
)
def test_the_total_counts_nothing_twice(domains, gross):
    assert list(gross_domains(domains)) == gross


def test_an_unknown_zone_is_of_another_kind():
    assert kind_of("accelerator-0") == "other"
    assert kind_of("dram-0-die-1") == "dram"
