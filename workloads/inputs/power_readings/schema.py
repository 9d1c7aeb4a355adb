"""Readings of smart plugs, as in the DEBS 2014 Grand Challenge (Data-Trace Types, section 6).

A plug sits between a wall outlet and a device, and says about every 2 s how many watts it draws.
It is in a unit of a building. What type of device is behind it stands in each reading, where the
paper joins a table: a program must not depend on which dataset it is given.

Event time is in seconds, as in the challenge and in most logs of plugs. A plug may have several
readings of one second, and none for a while.
"""

import numpy as np

INPUT = "power_readings"
"""By which datasets are kept: all workloads on it take the same."""

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
"""Plug, type of the device, unit and building, all counted from 0; whole watts."""

PLUGS_PER_UNIT = 4
UNITS_PER_BUILDING = 4
"""Where nothing tells where a plug is: plug p is in unit p // 4, unit u in building u // 4."""

SECONDS_A_DAY = 86_400
