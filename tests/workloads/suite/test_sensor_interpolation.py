from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.model import Input, ModelError, Workload
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


@settings(deadline=None)
@given(power_inputs(), st.integers(1, 12), st.integers(1, 9), st.none() | st.integers(41, 60))
def test_the_greatest_average_of_a_block_is_that_of_each_block_by_itself(
    data: Input, period: int, gap: int, until_ts: int | None
):
    data = replace(data, until_ts=until_ts)
    everything = readings_of(data)
    found = []
    for marker in markers(everything, period, data.until_ts):
        for plug, values in sorted(filled(everything, gap).items()):
            blocks: dict[int, list[int]] = {}
            for _, load, _, ts in values:
                if ts < marker:
                    blocks.setdefault(ts // period, []).append(load)
            if blocks:
                greatest = max(half_up(Fraction(sum(v), len(v))) for v in blocks.values())
                found.append((marker, plug, greatest, sum(map(len, blocks.values()))))
    for form in FORMS:
        chosen = bound(form, markers_s=period, longest_gap_s=gap, aggregate="maximum")
        assert agreed(chosen, data) == found


@pytest.mark.parametrize("form", FORMS)
def test_a_table_of_places_retains_some_kinds_and_only_its_plugs(form: str):
    # Plugs 0 to 3 are in a place of kind 0, 4 to 7 of kind 1; plug 33 is of kind 0 again, 40 of 2.
    rows = [(0, plug, 0, plug) for plug in (-1, 0, 3, 4, 7, 33, 40)]
    data = input_of([*rows, (10, 0, 0, 0)])
    plugs = [row[1] for row in agreed(bound(form, table_plugs=41, place_kinds=1), data)]
    assert plugs == [0, 3, 33]
    plugs = [row[1] for row in agreed(bound(form, table_plugs=7, place_kinds=2), data)]
    assert plugs == [0, 3, 4]


def test_an_unknown_aggregate_is_refused():
    with pytest.raises(ModelError, match="aggregate is 'sum'; give average or maximum"):
        bound(aggregate="sum")


EXAMPLES = {
    "a missing second is on the line between its neighbours": (
        {},
        [[(0, 7, 0, 10), (3, 7, 0, 40), (10, 8, 0, 0)]],
        [(10, 7, 25_000, 4)],  # 10, 20, 30 and 40 W
    ),
    "halves of a milliwatt are rounded up": (
        {},
        [[(0, 7, 0, 0), (7, 7, 0, 1), (10, 8, 0, 0)]],
        [(10, 7, 500, 8)],  # 0, 143, 286, 429, 571, 714, 857 and 1000: 4000 in 8 seconds
    ),
    "a line over a marker counts at the next, with halves": (
        {},
        [[(0, 7, 0, 0), (16, 7, 0, 1), (20, 8, 0, 0)]],
        [(10, 7, 0, 1), (20, 7, 500, 17)],
    ),
    "a line over a marker counts at the next": (
        {},
        [[(8, 7, 0, 0), (12, 7, 0, 4), (20, 8, 0, 0)]],
        [(10, 7, 0, 1), (20, 7, 2000, 5)],
    ),
    # 0, 2 and 4, then down from 8: 4 and 0.
    "of one second the least ends a line and the greatest begins one": (
        {},
        [[(0, 7, 0, 0), (2, 7, 0, 8)], [(2, 7, 0, 4), (2, 7, 0, 6), (4, 7, 0, 0), (10, 8, 0, 0)]],
        [(10, 7, 2000, 5)],
    ),
    "whatever the order of its readings": (
        {},
        [[(2, 7, 0, 4), (2, 7, 0, 6), (4, 7, 0, 0), (0, 7, 0, 0), (2, 7, 0, 8), (10, 8, 0, 0)]],
        [(10, 7, 2000, 5)],
    ),
    "after a longer gap lines begin anew": (
        {"longest_gap_s": 3},
        [[(0, 7, 0, 0), (3, 7, 0, 3), (7, 7, 0, 7), (10, 8, 0, 0)]],
        [(10, 7, 2600, 5)],  # 0, 1, 2 and 3 W; and 7 W, with nothing from 4 s to 6 s
    ),
    "a fault is left out, but time goes on by it": (
        {"most_watts": 100},
        [[(0, 7, 0, 10), (1, 7, 0, 101), (2, 7, 0, 10), (10, 7, 0, 999)]],
        [(10, 7, 10_000, 3)],
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", EXAMPLES)
def test_means_are_those_found_by_hand(case: str, form: str):
    query, streams, answer = EXAMPLES[case]
    assert agreed(bound(form, **query), input_of(*streams)) == answer
