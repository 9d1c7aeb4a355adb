"""Which items are bought, in stores and on the web alike."""

import numpy as np

from streamlab.workloads.datasets.random import Bits, below
from streamlab.workloads.inputs.retail.scale import Ints, Sizes, popular, sizes_of
from streamlab.workloads.model import ModelError, Parameter, Params

FIRST_FIXED, FIXED = 10_000, 4
"""Items 10,000 to 10,003: they are bought together often."""

_WHOLE = 100

PARAMETERS = {
    "scale": Parameter(
        default=1.0,
        help="scale factor: numbers of items, customers and stores grow with its root",
        minimum=1.0,
        maximum=1_000_000.0,
    ),
    "fixed_percent": Parameter(
        default=5, help="bought items that are 10000 to 10003", minimum=0, maximum=100
    ),
    "popular_percent": Parameter(
        default=40,
        help="bought items that are drawn by a normal distribution; the rest is uniform",
        minimum=0,
        maximum=100,
    ),
}


def sizes(params: Params) -> Sizes:
    """Return the sizes that parameters ask for.

    Raises:
        ModelError: the shares of fixed and popular items exceed the whole.
    """
    fixed, often = int(params["fixed_percent"]), int(params["popular_percent"])
    if fixed + often > _WHOLE:
        raise ModelError(f"fixed_percent is {fixed} and popular_percent {often}; above 100 in all")
    return sizes_of(float(params["scale"]))


def bought_items(params: Params, which: Bits, choice: Bits) -> Ints:
    """Return an item for each pair of random bits.

    Args:
        params: see `PARAMETERS`.
        which: decides between fixed, popular and uniform.
        choice: decides which of these.
    """
    made = sizes(params)
    fixed = int(params["fixed_percent"])
    drawn = below(which, _WHOLE)
    items = below(choice, made.items)
    some = np.flatnonzero(drawn < fixed + int(params["popular_percent"]))
    items[some] = popular(choice[some], made.items, made.items_deviation)
    some = np.flatnonzero(drawn < fixed)
    items[some] = FIRST_FIXED + below(choice[some], FIXED)
    return items
