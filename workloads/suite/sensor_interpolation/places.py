"""Makes the table of places, which example 4.1 of the paper joins, and tests a reading by it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from streamlab.workloads.inputs.power_readings.schema import PLUGS_PER_UNIT

PLACE_KINDS = 8
"""Kinds of places, such as kitchens; unit u is a place of kind u modulo this."""


def selection(most_watts: int, table_plugs: int, place_kinds: int) -> Callable[[Any, Any], Any]:
    """Return a compilable predicate of plug and watts: true for a reading without fault from a retained place.

    The table has a row for each of the first `table_plugs` plugs, with the kind of its place. Other
    plugs join no row. Without rows there is no join.
    """
    kind_of_plug = np.arange(table_plugs) // PLUGS_PER_UNIT % PLACE_KINDS

    def without_fault(plug: Any, watts: Any) -> Any:
        return watts <= most_watts

    def in_place(plug: Any, watts: Any) -> Any:
        return (
            watts <= most_watts
            and 0 <= plug < len(kind_of_plug)
            and kind_of_plug[plug] < place_kinds
        )

    return in_place if table_plugs else without_fault
