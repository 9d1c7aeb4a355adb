"""Loads of the plugs of homes: the input of `smart_home` (DEBS 2014 Grand Challenge).

A plug is in a household, a household in a house. The key of a plug says where it is: every house
has as many households, and every household as many plugs, used or not. So programs need no table of
plugs, and the plugs of a household, or of a house, have keys in a row.

Event time is in seconds, loads are whole milliwatts. A stream has the plugs of some houses; the
last stream has the ends of slices, which come after the loads of their second.
"""

from collections.abc import Mapping

import numpy as np

from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import ModelError, Parameter, Params

INPUT = "smart_home"

KINDS = ("load", "house_end", "slice_end")
LOAD, HOUSE_END, SLICE_END = range(3)

FIELDS = np.dtype([("load_mw", np.int32)])

SECONDS_A_DAY = 86_400

ALL, HOUSE = "all", "house"
ENDS_OF = {ALL: SLICE_END, HOUSE: HOUSE_END}

LAYOUT = {
    "households_per_house": Parameter(
        default=4, help="households of each house, used or not", minimum=1, maximum=10_000
    ),
    "plugs_per_household": Parameter(
        default=4, help="plugs of each household, used or not", minimum=1, maximum=10_000
    ),
    "slice_s": Parameter(
        default=3600,
        help="length of a slice of time; divides a day into two or more",
        minimum=60,
        maximum=SECONDS_A_DAY // 2,
    ),
}
"""Parameters of the input that a query must be told: by them keys and times are read."""


def plugs_of_a_house(params: Mapping[str, object]) -> int:
    """Return how many keys a house has."""
    return int(str(params["households_per_house"])) * int(str(params["plugs_per_household"]))


def check_slice(slice_s: int) -> None:
    """Refuse slices that do not divide a day.

    Raises:
        ModelError: they don't, or there is only one.
    """
    if slice_s < 1 or SECONDS_A_DAY % slice_s or slice_s == SECONDS_A_DAY:
        raise ModelError(
            f"slice_s is {slice_s}, which does not divide a day into two or more slices; give "
            "3600, or another divisor of 86400"
        )


def unfit(query: Params, dataset: Dataset) -> str:
    """Return why a dataset cannot be input of a query; "" when it can."""
    told = dataset.origin.get("params") or dataset.origin.get("settings")
    if not isinstance(told, Mapping):
        return ""
    for name in LAYOUT:
        own = told.get(name, told.get(name.replace("_", "-"), query[name]))
        if own != query[name]:
            return (
                f"dataset {dataset.id[:8]} has {name}={own}, and the query {name}={query[name]}; "
                f"give it query parameter {name}={own}"
            )
    return ""
