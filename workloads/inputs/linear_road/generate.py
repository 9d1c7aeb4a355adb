"""Generates the records of Linear Road: one for every vehicle each 30 s.

The benchmark's own input comes from a traffic simulation of three hours, which must run in
sequence. Here the k-th record of a vehicle is a function of the seed, the vehicle and k, and the
k-th records of all vehicles form round k. The generator keeps the benchmark's schema and ranges,
the period, times in whole seconds, the lanes for entry and exit, and the selectivities
of both workloads. It does not simulate traffic: a vehicle keeps its pace for a whole trip, and
there are no jams or accidents.

- A vehicle makes trips of `TRIP_REPORTS` records, one after another, beginning in the middle of a
  trip. A trip has an expressway, a direction, a place of entry and a pace.
- In each period a vehicle drives its pace, plus or minus up to 200 feet. The reported speed is that
  of the period before. In one period no vehicle passes more than one segment boundary.
- A share of the records (`requests`) are requests instead of reports.
- Vehicles are assigned to streams in turn. Records and times do not depend on the number of
  streams.

With pace p in miles a period, the share of records that are a vehicle's first report in a segment
is about 1 / r + (1 - 1 / r) E[p], with r records of a trip, plus the vehicles' very first records.
"""

from functools import partial

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
    TRAVEL_LANES,
    TYPES,
)
from streamlab.workloads.inputs.parameters import streams_parameter
from streamlab.workloads.inputs.query_workload import output_per_key
from streamlab.workloads.model import Columns, ModelError, Parameter, Params, StreamSpec, Workload

IntArray = npt.NDArray[np.int64]

_ALL = 0  # records of all streams draw as one stream
(_PHASE, _XWAY, _DIRECTION, _PACE, _ENTRY, _JITTER, _LANE, _REQUEST, _KIND) = range(9)  # lanes

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
_SLOWEST_FT, _FASTEST_FT = 18 * _FT_PER_MPH, 59 * _FT_PER_MPH
"""Paces of trips, 18 to 59 mph: E[p] = (18 + 59) / 2 / 120, so 0.338 of the records are the first in their
segment. With the vehicles' very first records it is 0.340 for a million records."""
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
        **_driven(params, seed, vehicle, turn),
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


def _driven(params: Params, seed: int, vehicle: IntArray, turn: IntArray) -> dict[str, IntArray]:
    """Return the positions and speeds of vehicles in their turns."""
    vehicles = int(params["vehicles"])
    record = turn * vehicles + vehicle
    phase = below(draw_at(seed, _ALL, _PHASE, vehicle), TRIP_REPORTS)
    number, nth = np.divmod(turn + phase, TRIP_REPORTS)
    trip = number * vehicles + vehicle

    def of_trip(lane: int) -> Bits:
        return draw_at(seed, _ALL, lane, trip)

    def ahead(record: IntArray) -> IntArray:
        return below(draw_at(seed, _ALL, _JITTER, record), _JITTER_FT + 1)

    pace = _SLOWEST_FT + below(of_trip(_PACE), _FASTEST_FT - _SLOWEST_FT + 1)
    longest = pace * (TRIP_REPORTS - 1) + _JITTER_FT + 1
    entry = below_each(of_trip(_ENTRY), ROAD_FT - longest)
    here = ahead(record)
    driven = entry + pace * nth + here
    direction = below(of_trip(_DIRECTION), 2)
    position = np.where(direction == 0, driven, ROAD_FT - 1 - driven)
    lane = TRAVEL_LANES[0] + below(draw_at(seed, _ALL, _LANE, record), len(TRAVEL_LANES))
    lane[nth == 0] = ENTRY_LANE
    lane[nth == TRIP_REPORTS - 1] = EXIT_LANE
    # Before a vehicle enters its speed is unknown: report its pace.
    since = np.where(nth == 0, pace, pace + here - ahead(record - vehicles))
    return {
        "speed": since // _FT_PER_MPH,
        "xway": below(of_trip(_XWAY), int(params["expressways"])),
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
    input=INPUT,
    small={"vehicles": 40},
)
"""Declares a workload on Linear Road's records.

By default, outputs leave in time order, and outputs of one vehicle keep their order. Ties between vehicles
are free, so each instance of an operator may process its own vehicles.
"""
