"""Defines the records of Linear Road.

Source: Arasu and others, Linear Road: A Stream Data Management Benchmark, 2004. Vehicles report
their position every 30 s. Directions are 0 (east) and 1 (west). Positions are in feet from the
western end, and a segment is a mile long. Requests have -1 in all fields but type and vehicle.
"""

import numpy as np

INPUT = "linear_road"
"""Name of this input in the catalogue, for all workloads on it."""

RECORD = "record"

REPORT, BALANCE, EXPENDITURE, TRAVEL_TIME = 0, 2, 3, 4
"""Types: a position report, and requests for the account balance, a day's expenditure and a travel
time. The benchmark's input has no type 1."""

TYPES = (REPORT, BALANCE, EXPENDITURE, TRAVEL_TIME)

FIELDS = np.dtype(
    [
        ("type", np.int8),
        ("vid", np.int32),
        ("speed", np.int16),
        ("xway", np.int16),
        ("lane", np.int8),
        ("dir", np.int8),
        ("seg", np.int8),
        ("pos", np.int32),
    ]
)
"""Type, vehicle, speed in miles an hour, expressway, lane (0: entry, 4: exit), direction, segment
(0 to 99), position in feet."""

OUTPUT = np.dtype([("ts", np.int64), *FIELDS.descr])

PERIOD_MS = 30_000
MILE_FT = 5280
SEGMENTS = 100
ROAD_FT = SEGMENTS * MILE_FT
ENTRY_LANE, EXIT_LANE = 0, 4
TRAVEL_LANES = (1, 2, 3)
NONE = -1
