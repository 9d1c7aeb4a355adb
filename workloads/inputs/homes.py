"""Defines the input of `smart_home`: loads of the plugs of homes (DEBS 2014 Grand Challenge).

A plug belongs to a household, and a household to a house. All houses have the same number of
households, and all households the same number of plugs, used or not. A plug's key therefore gives
its household and house without a table, and the plugs of a house have consecutive keys.

Event times are in seconds, loads in whole milliwatts. Each stream but the last has the plugs of
some houses. The last stream has the ends of slices, after the loads of the same second.
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
END_KINDS = {ALL: SLICE_END, HOUSE: HOUSE_END}

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
"""Parameters of the input that the query needs as well, to interpret keys and times."""


def plugs_per_house(params: Mapping[str, object]) -> int:
    """Return the number of keys of a house."""
    return int(str(params["households_per_house"])) * int(str(params["plugs_per_household"]))


def check_slice(slice_s: int) -> None:
    """Raise an error if slices do not divide a day.

    Raises:
        ModelError: a day is not a multiple of `slice_s`, or has only one slice.
    """
    if slice_s < 1 or SECONDS_A_DAY % slice_s or slice_s == SECONDS_A_DAY:
        raise ModelError(
            f"slice_s is {slice_s}, which does not divide a day into two or more slices; give "
            "3600, or another divisor of 86400"
        )


def unfit(query: Params, dataset: Dataset) -> str:
    """Return the reason why a dataset cannot be the input of a query, or "" if it can."""
    settings = dataset.origin.get("params") or dataset.origin.get("settings")
    if not isinstance(settings, Mapping):
        return ""
    for name in LAYOUT:
        actual = settings.get(name, settings.get(name.replace("_", "-"), query[name]))
        if actual != query[name]:
            return (
                f"dataset {dataset.id[:8]} has {name}={actual}, but the query has "
                f"{name}={query[name]}; give it query parameter {name}={actual}"
            )
    return ""
