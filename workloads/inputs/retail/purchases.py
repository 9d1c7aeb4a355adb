"""Draws the items that are bought, in stores and on the web."""

import numpy as np

from streamlab.workloads.datasets.random import Bits, below
from streamlab.workloads.inputs.retail.scale import Ints, Sizes, popular_ids, sizes_of
from streamlab.workloads.model import ModelError, Parameter, Params

FIRST_FIXED, FIXED = 10_000, 4
"""Items 10,000 to 10,003, which are often bought together."""

_PERCENT = 100

PARAMETERS = {
    "scale": Parameter(
        default=1.0,
        help="scale factor: numbers of items, customers and stores grow with its square root",
        minimum=1.0,
        maximum=1_000_000.0,
    ),
    "fixed_percent": Parameter(
        default=5, help="percentage of bought items that are 10000 to 10003", minimum=0, maximum=100
    ),
    "popular_percent": Parameter(
        default=40,
        help="percentage of bought items from a normal distribution; the rest is uniform",
        minimum=0,
        maximum=100,
    ),
}


def sizes(params: Params) -> Sizes:
    """Return the sizes of the scale factor.

    Raises:
        ModelError: the percentages of fixed and popular items exceed 100.
    """
    fixed, popular = int(params["fixed_percent"]), int(params["popular_percent"])
    if fixed + popular > _PERCENT:
        raise ModelError(
            f"fixed_percent is {fixed} and popular_percent {popular}; give at most 100 together"
        )
    return sizes_of(float(params["scale"]))


def bought_items(params: Params, which: Bits, choice: Bits) -> Ints:
    """Return an item for each pair of random bits.

    Args:
        params: see `PARAMETERS`.
        which: selects fixed, popular or uniform.
        choice: selects the item.
    """
    scaled = sizes(params)
    fixed = int(params["fixed_percent"])
    percent = below(which, _PERCENT)
    items = below(choice, scaled.items)
    rows = np.flatnonzero(percent < fixed + int(params["popular_percent"]))
    items[rows] = popular_ids(choice[rows], scaled.items, scaled.items_deviation)
    rows = np.flatnonzero(percent < fixed)
    items[rows] = FIRST_FIXED + below(choice[rows], FIXED)
    return items
