"""Records of Linear Road (Arasu and others, Linear Road: A Stream Data Management Benchmark, 2004).

Vehicles report their position every 30 s. Directions are 0 (east) and 1 (west); positions are feet
from the western end, and a segment is a mile of them. Beside reports there are requests, whose
fields other than type and vehicle are -1.
"""

import numpy as np

INPUT = "linear_road"
"""By which datasets are kept: both workloads take the same."""

RECORD = "record"

REPORT, BALANCE, EXPENDITURE, TRAVEL_TIME = 0, 2, 3, 4
"""Types: a position report, and requests for the account's balance, a day's expenditure and a
travel time. The benchmark has no type 1 in its input."""

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
