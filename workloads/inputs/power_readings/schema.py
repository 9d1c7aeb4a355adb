"""Defines readings of smart plugs (DEBS 2014 Grand Challenge; Data-Trace Types, section 6).

A plug sits between a wall outlet and a device, and reports the watts that it draws about every 2 s.
It belongs to a unit of a building. Each reading carries the type of the device, because the devices of
real plugs differ between datasets. `smart_home_prediction` can join its own table of devices instead.

Event times are in seconds, as in the challenge and in most logs of plugs. A plug may have several
readings in one second, and gaps without any.
"""

from typing import Any

import numpy as np

INPUT = "power_readings"
"""Name of this input in the catalogue, for all workloads on power readings."""

READING = "reading"

FIELDS = np.dtype(
    [
        ("plug", np.int32),
        ("device", np.int16),
        ("unit", np.int32),
        ("building", np.int32),
        ("watts", np.int32),
    ]
)
"""Plug, type of the device, unit and building, all from 0; whole watts."""

PLUGS_PER_UNIT = 4
UNITS_PER_BUILDING = 4
"""For sources without locations: plug p is in unit p // 4, unit u in building u // 4."""

DEVICE_TYPES = 20
"""For sources without devices: plug p has a device of type p modulo this."""

SECONDS_A_DAY = 86_400


def interpolate_load(before: Any, after: Any, second: Any, seconds: Any) -> Any:
    """Return, rounded, the load `second` s after load `before`, on the line to load `after` at `seconds` s."""
    return (2 * (before * seconds + second * (after - before)) + seconds) // (2 * seconds)
