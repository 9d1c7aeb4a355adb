"""Linear Road: oracles against loops, the program against oracles, and what the generator makes."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.inputs.linear_road.generate import TRIP_REPORTS
from streamlab.workloads.inputs.linear_road.schema import (
    FIELDS,
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
from tests.engines.inputs import input_of
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


class TollLoop:
    """The tolls of reports, one after another, as the benchmark describes them."""

    def __init__(self, events):
        self.last, self.standing, self.expected = {}, Counter(), []
        self.vehicles, self.speeds, self.accidents = Counter(), defaultdict(list), set()
        self.stopped = defaultdict(set)
        for ts, _, _, payload in events:
            if payload["type"] == REPORT:
                self.report(ts, ts // 60_000, **payload)

    def report(self, ts, minute, vid, speed, xway, lane, seg, pos, **record):
        place, spot = (xway, record["dir"], seg), (xway, record["dir"], pos)
        last_place, last_spot, last_minute = self.last.get(vid, (None, None, None))
        self.last[vid] = place, spot, minute
        self.standing[vid] = self.standing[vid] + 1 if spot == last_spot else 1
        if self.standing[vid] >= 4:
            self.stopped[spot, ts // 30_000].add(vid)
            if self.stopped[spot, ts // 30_000 - 1] - {vid}:
                back = -1 if record["dir"] == 0 else 1
                self.accidents |= {(xway, record["dir"], seg + back * i, minute) for i in range(5)}
        self.vehicles[place, minute] += place != last_place or minute != last_minute
        self.speeds[place, minute].append(speed)
        if place == last_place or lane == 4:
            return
        count = self.vehicles[place, minute - 1]
        speeds = [v for back in range(1, 6) for v in self.speeds[place, minute - back]]
        mean = sum(speeds) // len(speeds) if speeds else 0
        accident = (*place, minute - 1) in self.accidents
        toll = 0 if mean >= 40 or accident else 2 * max(count - 50, 0) ** 2
        self.expected.append((ts, vid, *place, count, mean, accident, toll))


def test_tolls_follow_vehicles_speed_and_accidents_of_the_minutes_before():
    params = {"vehicles": 20_000, "expressways": 1, "streams": 2}
    data = generated(TOLL, params, 200_000, seed=3)
    tolls = TOLL.oracle(data)
    assert rows(TOLL, tolls) == TollLoop(in_order(data)).expected
    free = (tolls["vehicles"] > 50) & (tolls["toll"] == 0)
    assert 0.1 < (tolls["toll"] > 0).mean() < 0.9
    assert (free & (tolls["accident"] == 1)).any()


def reports(*told):
    """Return an input of one stream of reports: time in s, vehicle, speed, segment, position."""
    columns = np.array(told, dtype=np.int64).T
    names = ("vid", "speed", "seg", "pos")
    payload = {name: columns[i].astype(FIELDS[name]) for i, name in enumerate(names, start=1)}
    rest = {name: np.zeros(len(told), FIELDS[name]) for name in FIELDS.names if name not in payload}
    columns_of_stream = payload | rest | {"lane": rest["lane"] + 1}
    return input_of(TOLL.program.kinds, (0, columns[0] * 1000, columns_of_stream))


@pytest.mark.parametrize("others", [1, 2])
def test_an_accident_needs_two_vehicles_and_frees_its_and_four_segments_for_a_minute(others):
    """Vehicles 1 and 2, or only 1, stand at one position from 0 s to 150 s."""
    stand = [(30 * k, vid, 0, 10, 52_800) for k in range(6) for vid in range(1, others + 1)]
    enter = [(181, 10 + seg, 30, seg, seg * 5280) for seg in range(4, 13)]
    late = [(301, 30 + seg, 30, seg, seg * 5280) for seg in range(4, 13)]
    data = reports(*stand, *enter, *late)
    found = rows(TOLL, answer_of(TOLL.program, data))
    assert found == rows(TOLL, TOLL.oracle(data))
    freed = [seg for ts, _, _, _, seg, _, _, accident, _ in found if ts == 181_000 and accident]
    assert freed == ([6, 7, 8, 9, 10] if others == 2 else [])
    assert not any(row[7] for row in found if row[0] == 301_000)


@pytest.mark.parametrize(
    "vehicles, speed, toll", [(50, 39, 0), (51, 39, 2), (60, 39, 200), (60, 40, 0)]
)
def test_a_toll_is_due_above_50_vehicles_that_are_slower_than_40_mph(vehicles, speed, toll):
    data = reports(*((0, vid, speed, 3, vid) for vid in range(vehicles)), (60, 99, speed, 3, 99))
    found = rows(TOLL, answer_of(TOLL.program, data))
    assert found == rows(TOLL, TOLL.oracle(data))
    assert found[-1][-4:] == (vehicles, speed, 0, toll)


@settings(deadline=None, max_examples=examples(200))
@given(st.data())
def test_tolls_of_small_inputs_follow_the_loop(data):
    """Times in few periods, so that vehicles stop, collide, and change segments."""
    report = st.tuples(FEW, st.integers(0, 60), FEW, st.just(0))
    steps = data.draw(st.lists(report, max_size=40))
    told = [(12 * k, *step) for k, step in enumerate(steps)]
    if told:
        drawn = reports(*told)
        assert rows(TOLL, TOLL.oracle(drawn)) == TollLoop(in_order(drawn)).expected
        assert rows(TOLL, answer_of(TOLL.program, drawn)) == rows(TOLL, TOLL.oracle(drawn))


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
@pytest.mark.parametrize("vehicles", [2000, 6000])
def test_selectivities_hardly_depend_on_seed_and_on_vehicles_of_free_roads(seed, vehicles):
    data = generated(POS_REP, {"vehicles": vehicles}, MILLION, seed=seed)
    assert len(NEW_SEG.oracle(data)["ts"]) / MILLION == pytest.approx(0.34, abs=0.015)


def test_vehicles_are_slower_where_more_of_them_are():
    data = generated(POS_REP, {"vehicles": 6000, "expressways": 1}, MILLION, seed=1)
    found = columns_of(data)
    travels = (found["type"] == REPORT) & (found["lane"] % 4 != 0) & (found["speed"] > 0)
    seg = found["seg"][travels]
    middle = slice(30, 70)  # where vehicles pass that entered anywhere
    present = np.bincount(seg, minlength=SEGMENTS)[middle]
    speed = np.bincount(seg, found["speed"][travels])[middle] / present
    assert np.corrcoef(present, speed)[0, 1] < -0.5
    free = columns_of(generated(POS_REP, {"vehicles": 600, "expressways": 1}, 100_000, seed=1))
    assert speed.mean() < 0.92 * free["speed"][free["type"] == REPORT].mean()


def test_in_an_accident_two_vehicles_report_one_position_at_least_six_times_in_a_row():
    found = columns_of(generated(POS_REP, {"requests": 0.0}, 400_000, seed=1))
    order = np.lexsort((found["ts"], found["vid"]))
    vid, pos, xway, ts = (found[name][order] for name in ("vid", "pos", "xway", "ts"))
    begins = np.ones(len(vid), dtype=bool)
    begins[1:] = (vid[1:] != vid[:-1]) | (pos[1:] != pos[:-1]) | (xway[1:] != xway[:-1])
    start = np.flatnonzero(begins)
    length = np.diff(start, append=len(vid))
    stands = length > 1
    spots = defaultdict(list)
    for at, count in zip(start[stands].tolist(), length[stands].tolist(), strict=True):
        spots[int(xway[at]), int(pos[at]), int(ts[at]) // PERIOD_MS].append((int(vid[at]), count))
    assert len(spots) > 50
    in_full = [pair for (_, _, period), pair in spots.items() if 0 < period < 80]
    for first, second in in_full:
        assert first[0] ^ second[0] == 1 and first[1] == second[1] >= 6


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
    # Direction and expressway are kept during a trip, and nobody skips a segment; only accidents stop a vehicle.
    assert feet.min() == 0 and feet.max() < MILE_FT
    assert 0 < np.mean(feet == 0) < 0.01
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
