from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.model import Input, Workload
from streamlab.workloads.registry import workload
from tests.workloads.suite.power_inputs import (
    FORMS,
    filled,
    half_up,
    input_of,
    markers,
    power_inputs,
    readings_of,
)
from tests.workloads.suite.streams import agreed

NAME = "sensor_interpolation"


def bound(form: str = "typed", **query: object) -> Workload:
    return workload(NAME).bound({"form": form, **query})


def expected(data: Input, period: int, gap: int, most: int) -> list[tuple[int, ...]]:
    """Try every marker and every plug, and add up what is known by then."""
    everything = readings_of(data)
    values = filled([reading for reading in everything if reading[3] <= most], gap)
    found = []
    for marker in markers(everything, period, data.until_ts):
        for plug in sorted(values):
            known = [load for _, load, _, ts in values[plug] if ts < marker]
            if known:
                found.append((marker, plug, half_up(Fraction(sum(known), len(known))), len(known)))
    return found


@settings(deadline=None)  # comparing compiles when it is first used
@given(power_inputs(), st.integers(1, 12), st.integers(1, 9), st.none() | st.integers(41, 60))
def test_both_forms_and_the_oracle_answer_what_adding_up_gives(
    data: Input, period: int, gap: int, until_ts: int | None
):
    data = replace(data, until_ts=until_ts)
    for form in FORMS:
        chosen = bound(form, markers_s=period, longest_gap_s=gap, most_watts=4)
        assert agreed(chosen, data) == expected(data, period, gap, 4)


@pytest.mark.parametrize("form", FORMS)
def test_a_missing_second_is_on_the_line_between_its_neighbours(form: str):
    chosen = bound(form)
    data = input_of([(0, 7, 0, 10), (3, 7, 0, 40), (10, 8, 0, 0)])
    # 10, 20, 30 and 40 W.
    assert agreed(chosen, data) == [(10, 7, 25_000, 4)]


@pytest.mark.parametrize("form", FORMS)
def test_halves_of_a_milliwatt_are_rounded_up(form: str):
    chosen = bound(form)
    data = input_of([(0, 7, 0, 0), (7, 7, 0, 1), (10, 8, 0, 0)])
    # 0, 143, 286, 429, 571, 714, 857 and 1000: 4000 in 8 seconds.
    assert agreed(chosen, data) == [(10, 7, 500, 8)]
    data = input_of([(0, 7, 0, 0), (16, 7, 0, 1), (20, 8, 0, 0)])
    assert agreed(chosen, data)[-1] == (20, 7, 500, 17)


@pytest.mark.parametrize("form", FORMS)
def test_of_several_readings_of_a_second_the_least_ends_a_line_and_the_greatest_begins_one(
    form: str,
):
    chosen = bound(form)
    first, second = [(0, 7, 0, 0), (2, 7, 0, 8)], [(2, 7, 0, 4), (2, 7, 0, 6), (4, 7, 0, 0)]
    for data in (
        input_of(first, [*second, (10, 8, 0, 0)]),
        input_of([*second, *first, (10, 8, 0, 0)]),
    ):
        # 0, 2 and 4, then down from 8: 4 and 0.
        assert agreed(chosen, data) == [(10, 7, 2000, 5)]


@pytest.mark.parametrize("form", FORMS)
def test_after_a_longer_gap_lines_begin_anew(form: str):
    chosen = bound(form, longest_gap_s=3)
    data = input_of([(0, 7, 0, 0), (3, 7, 0, 3), (7, 7, 0, 7), (10, 8, 0, 0)])
    # 0, 1, 2 and 3 W; and 7 W, with nothing from 4 s to 6 s.
    assert agreed(chosen, data) == [(10, 7, 2600, 5)]


@pytest.mark.parametrize("form", FORMS)
def test_a_line_over_a_marker_counts_at_the_next(form: str):
    chosen = bound(form)
    data = input_of([(8, 7, 0, 0), (12, 7, 0, 4), (20, 8, 0, 0)])
    assert agreed(chosen, data) == [(10, 7, 0, 1), (20, 7, 2000, 5)]


def test_a_fault_is_left_out_but_time_goes_on_by_it():
    for form in FORMS:
        chosen = bound(form, most_watts=100)
        data = input_of([(0, 7, 0, 10), (1, 7, 0, 101), (2, 7, 0, 10), (10, 7, 0, 999)])
        assert agreed(chosen, data) == [(10, 7, 10_000, 3)]
