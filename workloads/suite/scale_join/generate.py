"""Generates the two streams of the band join benchmark (STRETCH, 8.3).

x, y, a and b are uniform over `lowest` .. `highest`. As in the benchmark's public code they are
whole numbers, although y and b are floats. With `fraction_bits` y and b are uniform over multiples
of 2^-fraction_bits. Their differences are exact in single precision, so an engine's rounding never
decides whether a pair matches.
"""

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.cadence import numbered_specs, rows_of, shares_of, tuples_of
from streamlab.workloads.datasets.cadence import one_key as keys
from streamlab.workloads.datasets.random import Bits, below, draw
from streamlab.workloads.datasets.rate_script import FORMS, STEADY, RateScript, parse_rates
from streamlab.workloads.inputs.parameters import streams_parameter
from streamlab.workloads.model import Columns, ModelError, Parameter, Params, StreamSpec

__all__ = ["LEFT", "PARAMETERS", "RIGHT", "generate", "keys", "streams"]

KINDS = ("left", "right")
LEFT = np.dtype([("x", np.int32), ("y", np.float32)])
RIGHT = np.dtype([("a", np.int32), ("b", np.float32), ("c", np.float64), ("d", np.int8)])
"""The columns of the paper; the boolean d is 0 or 1."""

_FIRST, _SECOND, _THIRD, _FOURTH = range(4)  # lanes of random numbers: the columns
_EXACT_BITS = 24
"""Whole numbers below 2^24 are exact in single precision."""

PARAMETERS = {
    "left_eps": Parameter(
        default=1000, help="left tuples in a second of event time", minimum=1, maximum=10**9
    ),
    "right_eps": Parameter(
        default=1000, help="right tuples in a second of event time", minimum=1, maximum=10**9
    ),
    "rates": Parameter(
        default=STEADY,
        help=f"change of both sides' rates over event time: {FORMS}",
    ),
    "streams": streams_parameter("tuples", each=" of each side"),
    "lowest": Parameter(
        default=1, help="lowest value of x, y, a and b", minimum=-(2**23), maximum=2**23
    ),
    "highest": Parameter(
        default=10_000,
        help="highest value; more pairs match if it is closer to the lowest",
        minimum=-(2**23),
        maximum=2**23,
    ),
    "fraction_bits": Parameter(
        default=0,
        help="y and b are multiples of 2^-fraction_bits; 0 means whole numbers",
        minimum=0,
        maximum=16,
    ),
}


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the streams of the left side, then of the right side.

    Raises:
        ModelError: values are not exact in single precision, `lowest` is above `highest`, or the
            rate script cannot be read.
    """
    _rates(params)
    lowest, highest = int(params["lowest"]), int(params["highest"])
    if lowest > highest:
        raise ModelError(
            f"scale_join: lowest is {lowest} and highest {highest}; give a lower lowest or a "
            "higher highest"
        )
    largest = max(abs(lowest), abs(highest))
    bits = int(params["fraction_bits"])
    if highest - lowest << bits >= 1 << _EXACT_BITS or largest << bits >= 1 << _EXACT_BITS:
        raise ModelError(
            f"scale_join: values up to {largest} in steps of 2^-{bits} are not exact in single "
            "precision; lower fraction_bits, or move lowest and highest closer to 0"
        )
    count = int(params["streams"])
    rates = int(params["left_eps"]), int(params["right_eps"])
    left, right = (
        numbered_specs(kind, kind, fields, (rows_of(side, index, count) for index in range(count)))
        for kind, fields, side in zip(KINDS, (LEFT, RIGHT), shares_of(events, rates), strict=True)
    )
    return left + right


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream."""

    def lane(number: int) -> Bits:
        return draw(seed, index, number, begin, end)

    count = int(params["streams"])
    is_left = index < count
    rate = int(params["left_eps" if is_left else "right_eps"])
    tuples = tuples_of(begin, end, index % count, count)
    first = int(params["lowest"]) + below(
        lane(_FIRST), int(params["highest"]) - int(params["lowest"]) + 1
    )
    columns: Columns = {
        "ts": _rates(params).times_ms(tuples, rate, seed),
        "x" if is_left else "a": first.astype(np.int32),
        "y" if is_left else "b": _fractions(params, lane(_SECOND)),
    }
    if not is_left:
        columns["c"] = below(lane(_THIRD), 2**32) / 2**32
        columns["d"] = below(lane(_FOURTH), 2).astype(np.int8)
    return columns


def _rates(params: Params) -> RateScript:
    return parse_rates(str(params["rates"]), "scale_join: rates")


def _fractions(params: Params, bits: Bits) -> npt.NDArray[np.float32]:
    steps = 1 << int(params["fraction_bits"])
    lowest, highest = int(params["lowest"]) * steps, int(params["highest"]) * steps
    return ((lowest + below(bits, highest - lowest + 1)) / steps).astype(np.float32)
