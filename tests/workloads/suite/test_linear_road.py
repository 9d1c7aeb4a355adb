"""Linear Road: oracles against loops, the program against oracles, and what the generator makes."""

from collections import Counter
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.inputs.linear_road.generate import TRIP_REPORTS
from streamlab.workloads.inputs.linear_road.schema import (
    MILE_FT,
    PERIOD_MS,
    REPORT,
    ROAD_FT,
    SEGMENTS,
    TYPES,
)
from streamlab.workloads.model import Columns, Input, Workload
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import workload
from tests.examples import examples
from tests.workloads.suite.streams import columns_of, generated, in_order, rows

POS_REP = workload("linear_road_pos_rep")
NEW_SEG = workload("linear_road_new_seg")
TOLL = workload("linear_road_toll")
ALL = [POS_REP, NEW_SEG, TOLL]
FEW = st.integers(0, 2)
MILLION = 1_000_000


@settings(deadline=None)
@given(inputs(POS_REP.program, values=FEW))
def test_pos_rep_forwards_what_is_a_report(data: Input):
    expected = [
        (ts, *payload.values()) for ts, _, _, payload in in_order(data) if payload["type"] == 0
    ]
    assert rows(POS_REP, POS_REP.oracle(data)) == expected


@settings(deadline=None, max_examples=examples(300))
@given(inputs(NEW_SEG.program, values=FEW, max_events=20))
def test_new_seg_forwards_reports_from_elsewhere_than_the_vehicles_last(data: Input):
    expected, last = [], {}
    for ts, _, _, payload in in_order(data):
        where = payload["xway"], payload["dir"], payload["seg"]
        if payload["type"] == 0 and last.get(payload["vid"]) != where:
            last[payload["vid"]] = where
            expected.append((ts, *payload.values()))
    assert rows(NEW_SEG, NEW_SEG.oracle(data)) == expected


@settings(deadline=None, max_examples=examples(200))
@given(inputs(TOLL.program, values=FEW, max_events=20))
def test_toll_counts_who_was_in_the_segment_before(data: Input):
    where, counted, expected = {}, Counter(), []
    events = list(in_order(data))
    for ts, tied in groupby(events, key=lambda event: event[0]):
        before = counted.copy()
        for _, _, _, payload in tied:
            place = payload["xway"], payload["dir"], payload["seg"]
            last = where.get(payload["vid"])
            if payload["type"] != REPORT or last == place:
                continue
            if last is not None:
                counted[last] -= 1
            counted[place] += 1
            where[payload["vid"]] = place
            expected.append((ts, payload["vid"], *place, before[place], 0))
    assert rows(TOLL, TOLL.oracle(data)) == expected


def test_who_enters_a_crowded_segment_pays():
    params = {"vehicles": 20_000, "expressways": 1}
    tolls = TOLL.oracle(generated(TOLL, params, 60_000, seed=3))
    beyond = tolls["vehicles"].astype(int) - 50
    crowded = beyond > 0
    assert 0.1 < crowded.mean() < 0.9
    assert (tolls["toll"] == np.where(crowded, 2 * beyond**2, 0)).all()


@pytest.mark.parametrize("chosen", ALL, ids=lambda chosen: chosen.name)
@settings(deadline=None)
@given(data=st.data())
def test_the_program_gives_the_sequence_that_the_oracle_says(chosen: Workload, data):
    drawn = data.draw(inputs(chosen.program, values=FEW))
    assert rows(chosen, answer_of(chosen.program, drawn)) == rows(chosen, chosen.oracle(drawn))


@pytest.mark.parametrize("chosen", ALL, ids=lambda chosen: chosen.name)
def test_programs_and_oracles_agree_on_generated_input(chosen: Workload):
    data = generated(chosen, {"vehicles": 50, "streams": 3, "requests": 0.1}, 20_000, seed=5)
    expected = chosen.oracle(data)
    found = answer_of(chosen.program, data)
    assert rows(chosen, found) == rows(chosen, expected)
    assert len(expected["ts"]) > 5000


def test_ties_between_vehicles_are_free_and_those_of_a_vehicle_are_not():
    data = generated(NEW_SEG, {"vehicles": 90}, 3000, seed=1)
    expected = NEW_SEG.oracle(data)
    times = expected["ts"].tolist()
    tie = next(i for i in range(len(times) - 1) if times[i] == times[i + 1])

    def swapped(first: int, second: int) -> Columns:
        order = np.arange(len(times))
        order[[first, second]] = second, first
        return {name: column[order] for name, column in expected.items()}

    assert compare(expected, swapped(tie, tie + 1), NEW_SEG.output).equal
    later = next(i for i in range(len(times)) if times[i] > times[0])
    assert not compare(expected, swapped(0, later), NEW_SEG.output).equal


@pytest.fixture(scope="module")
def million() -> Input:
    return generated(POS_REP, {}, MILLION, seed=1)


def test_a_million_records_have_the_selectivities_of_the_paper(million: Input):
    assert million.events == MILLION
    assert len(POS_REP.oracle(million)["ts"]) / MILLION == pytest.approx(0.99, abs=0.001)
    assert len(NEW_SEG.oracle(million)["ts"]) / MILLION == pytest.approx(0.34, abs=0.005)


@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("vehicles", [1000, 10_000])
def test_selectivities_hardly_depend_on_seed_and_vehicles(seed: int, vehicles: int):
    data = generated(POS_REP, {"vehicles": vehicles}, MILLION, seed=seed)
    assert len(NEW_SEG.oracle(data)["ts"]) / MILLION == pytest.approx(0.34, abs=0.01)


def test_records_are_within_the_ranges_of_the_benchmark(million: Input):
    found = columns_of(million)
    assert set(found["type"].tolist()) == set(TYPES)
    assert (found["vid"].min(), found["vid"].max()) == (0, 3999)
    is_report = found["type"] == REPORT
    for name, highest in {"speed": 100, "xway": 1, "lane": 4, "dir": 1, "seg": 99}.items():
        reported = found[name][is_report]
        assert reported.min() >= 0 and reported.max() <= highest, name
        assert np.all(found[name][~is_report] == -1)
    position = found["pos"][is_report]
    assert position.min() >= 0 and position.max() < ROAD_FT
    assert np.array_equal(found["seg"][is_report], position // MILE_FT)
    assert len(set(position // MILE_FT)) == SEGMENTS
    kinds, counts = np.unique(found["type"][~is_report], return_counts=True)
    assert kinds.tolist() == [2, 3, 4]
    assert np.all(np.abs(counts / counts.sum() - 1 / 3) < 0.03)


def test_vehicles_report_every_30_s_and_drive_as_fast_as_they_say(million: Input):
    found = columns_of(million)
    order = np.lexsort((found["ts"], found["vid"]))
    found = {name: column[order] for name, column in found.items()}
    same = found["vid"][1:] == found["vid"][:-1]
    assert np.all(np.diff(found["ts"])[same] == PERIOD_MS)
    assert np.all(found["ts"] % 1000 == 0)
    reports = found["type"] == REPORT
    driving = same & reports[1:] & reports[:-1] & (found["lane"][1:] != 0)
    assert driving.sum() > 0.9 * MILLION
    forward = np.where(found["dir"][1:] == 0, 1, -1)
    feet = (np.diff(found["pos"]) * forward)[driving]
    # Direction and expressway are kept during a trip, and nobody skips a segment.
    assert feet.min() > 0 and feet.max() < MILE_FT
    assert np.array_equal(feet * 3600 // (30 * MILE_FT), found["speed"][1:][driving])
    for name in ("dir", "xway"):
        assert not np.any(np.diff(found[name])[driving])


def test_trips_begin_on_the_entry_lane_and_end_on_the_exit_lane(million: Input):
    lane = columns_of(million)["lane"]
    for which in (0, 4):
        assert np.mean(lane == which) == pytest.approx(0.99 / TRIP_REPORTS, rel=0.05)


def test_vehicles_are_dealt_to_the_streams():
    data = generated(POS_REP, {"vehicles": 100, "streams": 2}, 1000, seed=1)
    for index, stream in enumerate(data.streams):
        assert np.all(stream.payload["vid"] % 2 == index)


@pytest.mark.parametrize(
    "params",
    [
        {"vehicles": 1, "streams": 1, "requests": 1.0},
        {"vehicles": 512, "streams": 512, "requests": 0.0, "expressways": 1000},
    ],
)
def test_parameters_at_their_limits_make_records_within_their_ranges(params: dict[str, object]):
    found = columns_of(generated(POS_REP, params, 2000, seed=1))
    reports = found["type"] == REPORT
    position = found["pos"][reports]
    assert position.min(initial=0) == 0 and position.max(initial=0) < ROAD_FT
    assert found["speed"].max() <= 100
