"""Computes the numbers of items, customers and stores, and draws popular ones.

As in the benchmark's published data model, scale factor SF gives 18,000 sqrt(SF) items,
100,000 sqrt(SF) customers and 12 sqrt(SF) stores. Popular ones follow a normal distribution around
the middle of a fixed permutation, with deviations of 60 and 400 times (log5(SF) + 1).
"""

from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from math import sqrt

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.random import Bits

Ints = npt.NDArray[np.int64]

CATEGORIES = 10
_DEVIATIONS = 6
"""The normal distribution is cut off here; less than 2^-28 of it lies beyond."""

_STRIDES = (1_000_003, 1_000_033)
"""Two primes: at least one is coprime to any number of ids."""

_RESOLUTION_BITS = 63
_CONTEXT = Context(prec=40)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Sizes for a scale factor; deviations are those of popular items and customers."""

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
    chosen = np.searchsorted(_normal(deviation), bits >> np.uint64(1), side="right")
    place = count // 2 - _DEVIATIONS * deviation + chosen.astype(np.int64)
    stride = next(prime for prime in _STRIDES if count % prime)
    return place * stride % count


@lru_cache(maxsize=8)
def _normal(deviation: int) -> Bits:
    """Return upper bounds, in units of 2^-63, of all offsets within six deviations but the last.

    Decimal arithmetic, because `exp` on two machines may differ in the last bit.
    """
    twice = Decimal(2 * deviation * deviation)
    span = range(-_DEVIATIONS * deviation, _DEVIATIONS * deviation + 1)
    weights = [int(_CONTEXT.exp(_CONTEXT.divide(Decimal(-k * k), twice)) * 10**24) for k in span]
    total, cumulated = sum(weights), 0
    bounds = np.empty(len(weights) - 1, dtype=np.uint64)
    for index, weight in enumerate(weights[:-1]):
        cumulated += weight
        bounds[index] = (cumulated << _RESOLUTION_BITS) // total
    bounds.flags.writeable = False
    return bounds
