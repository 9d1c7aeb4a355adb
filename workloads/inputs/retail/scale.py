"""Computes numbers of items, customers and stores, draws bought items, and assigns rows to streams.

As in the benchmark's published data model, scale factor SF gives 18,000 sqrt(SF) items,
100,000 sqrt(SF) customers and 12 sqrt(SF) stores. Popular items and customers follow a normal distribution
around the middle of a fixed permutation, with deviations of 60 and 400 times (log5(SF) + 1).
"""

from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from math import sqrt

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.cadence import numbered_specs, rows_of
from streamlab.workloads.datasets.random import Bits, below, choose, thresholds
from streamlab.workloads.inputs.parameters import streams_parameter
from streamlab.workloads.inputs.retail.parameters import FIRST_DAY_PARAMETER, midnight_ms
from streamlab.workloads.model import ModelError, Parameter, Params, StreamSpec

Ints = npt.NDArray[np.int64]

CATEGORIES = 10
_DEVIATIONS = 6
"""The normal distribution is cut off here; less than 2^-28 of it lies beyond."""

_STRIDES = (1_000_003, 1_000_033)
"""Two primes: at least one is coprime to any number of ids."""

_CONTEXT = Context(prec=40)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Sizes for a scale factor; the deviations are of popular items and customers, see the module."""

    items: int
    customers: int
    stores: int
    items_deviation: int
    customers_deviation: int


@lru_cache(maxsize=16)
def sizes_of(scale: float) -> Sizes:
    """Return the sizes for a scale factor of 1 or more."""
    root = sqrt(scale)  # correctly rounded by IEEE 754, so equal on every machine
    log5 = _CONTEXT.divide(Decimal(repr(scale)).ln(_CONTEXT), Decimal(5).ln(_CONTEXT)) + 1
    return Sizes(
        items=int(18_000 * root),
        customers=int(100_000 * root),
        stores=int(12 * root),
        items_deviation=int(60 * log5),
        customers_deviation=int(400 * log5),
    )


def category_of(items: Ints) -> Ints:
    """Return the category, 1 to 10, of each item."""
    return 1 + items % CATEGORIES


def popular_ids(bits: Bits, count: int, deviation: int) -> Ints:
    """Map random bits to ids in [0, count), popular ones most often."""
    place = count // 2 - _DEVIATIONS * deviation + choose(bits, _normal(deviation))
    stride = next(prime for prime in _STRIDES if count % prime)
    return place * stride % count


@lru_cache(maxsize=8)
def _normal(deviation: int) -> Bits:
    """Return the thresholds by which `choose` draws a normal offset, up to six deviations either way.

    Uses decimal arithmetic, because `exp` on two machines may differ in the last bit.
    """
    twice = Decimal(2 * deviation * deviation)
    span = range(-_DEVIATIONS * deviation, _DEVIATIONS * deviation + 1)
    weights = [int(_CONTEXT.exp(_CONTEXT.divide(Decimal(-k * k), twice)) * 10**24) for k in span]
    return thresholds(weights)


FIRST_FIXED, FIXED = 10_000, 4
"""Items 10,000 to 10,003, which are often bought together."""

_PERCENT = 100
"""Percentages are drawn as whole numbers below this."""

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


def bought_items(params: Params, kind_bits: Bits, id_bits: Bits) -> Ints:
    """Return an item for each pair of random bits; `kind_bits` selects a fixed, popular or uniform item."""
    scaled = sizes(params)
    fixed = int(params["fixed_percent"])
    percent = below(kind_bits, _PERCENT)
    items = below(id_bits, scaled.items)
    rows = np.flatnonzero(percent < fixed + int(params["popular_percent"]))
    items[rows] = popular_ids(id_bits[rows], scaled.items, scaled.items_deviation)
    rows = np.flatnonzero(percent < fixed)
    items[rows] = FIRST_FIXED + below(id_bits[rows], FIXED)
    return items


def parameters(unit: str) -> dict[str, Parameter]:
    """Return the parameters of both generators except rates; `unit` names the assigned units."""
    return {
        **PARAMETERS,
        "first_day": FIRST_DAY_PARAMETER,
        "streams": streams_parameter(unit),
    }


def assign_streams(
    params: Params, events: int, *, kind: str, fields: np.dtype[np.void], unit: int
) -> tuple[StreamSpec, ...]:
    """Return the streams, with `events` rows in all, assigned in units of `unit` rows.

    Raises:
        ModelError: parameters contradict each other.
    """
    sizes(params)
    midnight_ms(str(params["first_day"]))
    count = int(params["streams"])
    units, rest = divmod(events, unit)
    rows = (
        unit * rows_of(units, index, count) + rest * (units % count == index)
        for index in range(count)
    )
    return numbered_specs(kind, kind, fields, rows)
