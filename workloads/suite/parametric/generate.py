"""Generates records whose keys follow a truncated normal distribution.

As in the paper's experiment with skew (7.2.1), x is drawn from N(0, sigma), truncated to [-1, 1],
and scaled to the space of keys. Keys are uniform with a large `sigma`. With a small `sigma`, most keys
are near the middle, and therefore in few range partitions. `keys` distinct values occur, each in the
middle of its share of the space. Their frequencies are densities in decimal arithmetic, which are equal
on every machine.
"""

from decimal import Context, Decimal
from functools import lru_cache

import numpy as np

from streamlab.workloads.datasets.cadence import numbered_specs, rows_of, tuples_of
from streamlab.workloads.datasets.cadence import one_key as keys
from streamlab.workloads.datasets.random import Bits, below, draw
from streamlab.workloads.inputs.parameters import streams_parameter
from streamlab.workloads.model import Columns, Parameter, Params, StreamSpec
from streamlab.workloads.suite.parametric.settings import EVENT, KEY_SPACE, MASK, RECORD

__all__ = ["PARAMETERS", "generate", "keys", "normal_bounds", "streams"]

_KEY, _WORD = range(2)  # lanes of random numbers
_RESOLUTION_BITS = 63

PARAMETERS = {
    "sigma": Parameter(
        default=100.0,
        help="standard deviation of keys in [-1, 1]; 100: uniform, 0.1: skewed",
        minimum=0.001,
        maximum=1e6,
    ),
    "keys": Parameter(default=10_000, help="number of distinct keys", minimum=1, maximum=KEY_SPACE),
    "rate_eps": Parameter(
        default=100_000, help="records in a second of event time", minimum=1, maximum=10**9
    ),
    "streams": streams_parameter("records"),
}


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the streams, with `events` records in all."""
    count = int(params["streams"])
    return numbered_specs(
        RECORD, RECORD, EVENT, (rows_of(events, index, count) for index in range(count))
    )


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream; `id` is unique over all streams."""
    number = tuples_of(begin, end, index, int(params["streams"]))
    distinct = int(params["keys"])
    bounds = normal_bounds(distinct, float(params["sigma"]))
    drawn = draw(seed, index, _KEY, begin, end) >> np.uint64(64 - _RESOLUTION_BITS)
    chosen = np.searchsorted(bounds, drawn, side="right").astype(np.int64)
    return {
        "ts": number * 1000 // int(params["rate_eps"]),
        "id": number,
        "key": (2 * chosen + 1) * KEY_SPACE // (2 * distinct),
        "x0": below(draw(seed, index, _WORD, begin, end), MASK + 1),
    }


@lru_cache(maxsize=8)
def normal_bounds(keys: int, sigma: float) -> Bits:
    """Return the upper bounds of all keys but the last, in units of 2^-63.

    Key k of n has weight exp(-x^2 / (2 sigma^2)), where x is the middle of its share of [-1, 1].
    Weights are relative to the weight of the most frequent key.
    """
    context = Context(prec=24)
    scale, weights = Decimal(10) ** 18, []
    width = 2 * (Decimal(repr(sigma)) * keys) ** 2
    nearest = 1 - keys % 2
    for key in range(keys):
        distance = 2 * key + 1 - keys
        exponent = context.divide(Decimal(nearest - distance * distance), width)
        weights.append(int(context.exp(exponent) * scale))
    total, cumulated = sum(weights), 0
    bounds = np.empty(keys - 1, dtype=np.uint64)
    for key, weight in enumerate(weights[:-1]):
        cumulated += weight
        bounds[key] = (cumulated << _RESOLUTION_BITS) // total
    bounds.flags.writeable = False
    return bounds
