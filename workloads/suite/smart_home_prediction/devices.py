"""Makes the table of devices, which JFM joins (figure 5 of the paper), and looks up a reading's type of device."""

from collections.abc import Callable
from typing import Any

import numpy as np

from streamlab.workloads.inputs.power_readings.schema import DEVICE_TYPES

NO_TYPE = -1
"""The type of a plug without a row, which no query retains."""


def type_lookup(table_plugs: int) -> Callable[[Any, Any], Any]:
    """Return a compilable function from a reading's plug and stated type to the type of its device.

    The table has a row for each of the first `table_plugs` plugs; other plugs have `NO_TYPE`. Without
    rows there is no join, and the stated type counts.
    """
    type_of_plug = np.arange(table_plugs) % DEVICE_TYPES

    def in_table(plug: Any, stated: Any) -> Any:
        if 0 <= plug < len(type_of_plug):
            return type_of_plug[plug]
        return NO_TYPE

    def as_stated(plug: Any, stated: Any) -> Any:
        return stated

    return in_table if table_plugs else as_stated
