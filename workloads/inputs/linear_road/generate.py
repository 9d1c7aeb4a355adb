"""Generates the records of Linear Road: one for every vehicle each 30 s.

The benchmark's own input comes from a traffic simulation of three hours, which must run in
sequence. Here the k-th record of a vehicle is a function of the seed, the vehicle and k, and the
k-th records of all vehicles form round k. The generator keeps the benchmark's schema and ranges,
the period, times in whole seconds, the lanes for entry and exit, and the selectivities
of the workloads.

- A vehicle makes trips of `TRIP_REPORTS` records, one after another, beginning in the middle of a
  trip. A trip has an expressway, a direction, a place of entry and a pace on an empty road.
- Vehicles slow down with the density of each segment (`_speed_percent`). This is the density that
  `vehicles` cause on average. Vehicles do not react to single vehicles, and do not queue at accidents.
- In each period a vehicle drives its pace, plus or minus up to 200 feet. The reported speed is the
  speed of the previous period. In one period no vehicle passes more than one segment boundary.
- Vehicles 2j and 2j + 1 are a pair. In some trips (`_ACCIDENT_SHARE`) both drive the trip of the first and
  collide. They then report one position at least `_STOPS[0]` times in a row.
- A share of the records (`requests`) are requests instead of reports.
- Vehicles are assigned to streams in turn. Records and times do not depend on the number of
  streams.

Let p be the pace in miles a period and r the number of records of a trip. Then the share of records that
are a vehicle's first report in a segment is about 1 / r + (1 - 1 / r) E[p], plus the vehicles' very first
records.
"""

from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.cadence import numbered_specs, one_key, rows_of, typed_columns
from streamlab.workloads.datasets.random import Bits, below, below_each, draw_at
from streamlab.workloads.inputs.linear_road.schema import (
    BALANCE,
    ENTRY_LANE,
    EXIT_LANE,
    FIELDS,
    INPUT,
    MILE_FT,
    NONE,
    PERIOD_MS,
    RECORD,
    REPORT,
    ROAD_FT,
    SEGMENTS,
    TRAVEL_LANES,
    TYPES,
)
from streamlab.workloads.inputs.parameters import streams_parameter
from streamlab.workloads.inputs.query_workload import output_per_key
from streamlab.workloads.model import Columns, ModelError, Parameter, Params, StreamSpec, Workload

IntArray = npt.NDArray[np.int64]

_ALL = 0  # stream of random numbers for all records, whatever their stream
(_PHASE, _XWAY, _DIRECTION, _PACE, _ENTRY, _JITTER, _LANE, _REQUEST, _KIND) = range(9)  # lanes
_CAPACITY, _ACCIDENT, _CRASH, _STOPPED = range(9, 13)

_JITTER_FT = 200
_FT_PER_MPH = MILE_FT * PERIOD_MS // 3_600_000
"""44 feet a period for each mile an hour."""

PARAMETERS = {
    "vehicles": Parameter(
        default=4000,
        help="number of vehicles, each with a record every 30 s",
        minimum=1,
        maximum=10**7,
    ),
    "expressways": Parameter(default=2, help="number of expressways", minimum=1, maximum=1000),
    "streams": streams_parameter("vehicles", 2),
    "requests": Parameter(
        default=0.01, help="share of records that are requests", minimum=0.0, maximum=1.0
    ),
}
TRIP_REPORTS = 40
"""Records of a trip."""
_SLOWEST_FT, _FASTEST_FT = 20 * _FT_PER_MPH, 61 * _FT_PER_MPH
"""Paces of trips, 20 to 61 mph on an empty road. By default 0.34 of the records are the first in their segment."""
_JAM_VEHICLES = 400
"""Vehicles at which a mile of three lanes stands still, at 40 feet a vehicle."""
_LEAST_CAPACITY = 40
"""Capacity of the narrowest segments, in percent of `_JAM_VEHICLES`."""
_ACCIDENT_SHARE = 0.02
"""Share of the trips of a pair that have an accident."""
_CRASHES = (8, 25)
"""Vehicles in an accident stop at one of these records of their trip, from the first number to the last."""
_STOPS = (6, 12)
"""Least and most records at the place of an accident; the benchmark detects an accident by four."""
_TICK_MS = 1000

keys = one_key


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the streams, with `events` records in all.

    Raises:
        ModelError: more streams than vehicles.
    """
    vehicles, count = int(params["vehicles"]), int(params["streams"])
    if count > vehicles:
        raise ModelError(
            f"linear_road: {count} streams for {vehicles} vehicles; give at most one stream a "
            "vehicle"
        )
    rounds, rest = divmod(events, vehicles)
    rows = (
        rounds * rows_of(vehicles, index, count) + rows_of(rest, index, count)
        for index in range(count)
    )
    return numbered_specs("report", RECORD, FIELDS, rows)


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream."""
    vehicles, count = int(params["vehicles"]), int(params["streams"])
    turn, slot = np.divmod(np.arange(begin, end, dtype=np.int64), rows_of(vehicles, index, count))
    vehicle = slot * count + index
    record = turn * vehicles + vehicle
    columns = {
        "type": np.full(end - begin, REPORT, dtype=np.int64),
        "vid": vehicle,
        **_drive(params, seed, vehicle, turn),
    }
    bits = draw_at(seed, _ALL, _REQUEST, record) >> np.uint64(32)
    is_request = bits < np.uint64(round(float(params["requests"]) * 2**32))
    kind = draw_at(seed, _ALL, _KIND, record[is_request])
    for name, values in columns.items():
        if name == "type":
            values[is_request] = BALANCE + below(kind, len(TYPES) - 1)
        elif name != "vid":
            values[is_request] = NONE
    return {
        "ts": turn * PERIOD_MS + vehicle * PERIOD_MS // vehicles // _TICK_MS * _TICK_MS,
        **typed_columns(columns, FIELDS),
    }


@lru_cache(maxsize=4)
def _speed_percent(seed: int, vehicles: int, expressways: int) -> IntArray:
    """Return the speed in each segment of each road, in the direction of travel, in percent of the empty road's.

    Let f be a segment's speed as a share of the empty road's, n the mean density of all roads, and `jam` the density at
    which the segment's traffic stands still. By Greenshields, f falls linearly with the density, to 0 at `jam`. Slow
    vehicles are close together, with density n / f, so f = 1 - (n / f) / jam. Above the segment's capacity f stays 1/2.
    """
    roads = 2 * expressways
    place = np.arange(roads * SEGMENTS, dtype=np.int64)
    spread = 101 - _LEAST_CAPACITY
    capacity = _LEAST_CAPACITY + below(draw_at(seed, _ALL, _CAPACITY, place), spread)
    mean = vehicles / (roads * SEGMENTS)
    root = np.sqrt(np.maximum(1 - 4 * mean * 100 / (capacity * _JAM_VEHICLES), 0.0))
    return (50 * (1 + root)).astype(np.int64).reshape(roads, SEGMENTS)


def _drive(params: Params, seed: int, vehicle: IntArray, turn: IntArray) -> dict[str, IntArray]:
    """Return the columns on position and speed; `turn` is the number of each record among its vehicle's records."""
    vehicles, expressways = int(params["vehicles"]), int(params["expressways"])
    leader = vehicle // 2 * 2
    phase = below(draw_at(seed, _ALL, _PHASE, leader), TRIP_REPORTS)
    number, nth = np.divmod(turn + phase, TRIP_REPORTS)

    def draw_for_trip(lane: int, driver: IntArray) -> Bits:
        return draw_at(seed, _ALL, lane, number * vehicles + driver)

    def draw_between(lane: int, least_and_most: tuple[int, int]) -> IntArray:
        lowest, highest = least_and_most
        return lowest + below(draw_for_trip(lane, leader), highest - lowest + 1)

    has_partner = leader + 1 < vehicles
    crashes = draw_for_trip(_ACCIDENT, leader) >> np.uint64(32) < np.uint64(
        round(_ACCIDENT_SHARE * 2**32)
    )
    crashes &= has_partner
    crash, stops = draw_between(_CRASH, _CRASHES), draw_between(_STOPPED, _STOPS)
    driver = np.where(crashes, leader, vehicle)
    xway = below(draw_for_trip(_XWAY, driver), expressways)
    direction = below(draw_for_trip(_DIRECTION, driver), 2)
    pace = _SLOWEST_FT + below(draw_for_trip(_PACE, driver), _FASTEST_FT - _SLOWEST_FT + 1)

    # Distances are first computed on an empty road, at the vehicles' pace, on which slow segments are longer.
    percent = _speed_percent(seed, vehicles, expressways)
    road = xway * 2 + direction
    ends = np.cumsum(MILE_FT * 100 // percent, axis=1)
    begins = np.hstack([np.zeros((len(ends), 1), dtype=np.int64), ends[:, :-1]])
    longest = pace * (TRIP_REPORTS - 1) + _JITTER_FT + 1
    entry = below_each(draw_for_trip(_ENTRY, driver), ends[road, -1] - longest)
    road_ft = int(ends.max()) + 1
    all_begins = (begins + np.arange(len(begins))[:, None] * road_ft).ravel()

    def drawing_record(nth: IntArray) -> IntArray:
        """Return the records whose random numbers apply; in an accident, the record of the first vehicle's crash."""
        is_stopped = crashes & (nth >= crash) & (nth < crash + stops)
        record = (
            turn + np.where(is_stopped, crash, nth) - (turn + phase) % TRIP_REPORTS
        ) * vehicles
        return record + np.where(is_stopped, leader, vehicle)

    def distance_ft(nth: IntArray) -> IntArray:
        """Return the feet from the beginning of the road at the n-th record of the trip."""
        stopped_records = np.where(crashes, np.clip(nth - crash, 0, stops - 1), 0)
        jitter_ft = below(draw_at(seed, _ALL, _JITTER, drawing_record(nth)), _JITTER_FT + 1)
        free_road_ft = road * road_ft + entry + pace * (nth - stopped_records) + jitter_ft
        road_segment = np.searchsorted(all_begins, free_road_ft, side="right") - 1
        return (
            road_segment % SEGMENTS * MILE_FT
            + (free_road_ft - all_begins[road_segment]) * percent.ravel()[road_segment] // 100
        )

    driven = distance_ft(nth)
    position = np.where(direction == 0, driven, ROAD_FT - 1 - driven)
    lane = TRAVEL_LANES[0] + below(
        draw_at(seed, _ALL, _LANE, drawing_record(nth)), len(TRAVEL_LANES)
    )
    lane[nth == 0] = ENTRY_LANE
    lane[nth == TRIP_REPORTS - 1] = EXIT_LANE
    # A vehicle that enters has no speed of a previous period, and reports its pace.
    driven_ft = np.where(nth == 0, pace, driven - distance_ft(np.maximum(nth - 1, 0)))
    return {
        "speed": driven_ft // _FT_PER_MPH,
        "xway": xway,
        "lane": lane,
        "dir": direction,
        "seg": position // MILE_FT,
        "pos": position,
    }


declare_linear_road_workload = partial(
    Workload,
    output=output_per_key("report", key_field="vid"),
    parameters=PARAMETERS,
    keys=keys,
    streams=streams,
    generate=generate,
    generator_version=2,
    input=INPUT,
    small={"vehicles": 40},
)
"""Declares a workload on Linear Road's records.

By default, outputs leave in time order, and outputs of one vehicle keep their order. Outputs of several vehicles
with equal times have no order, so each instance of an operator may process its own vehicles.
"""
