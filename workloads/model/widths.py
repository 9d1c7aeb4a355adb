"""Defines arithmetic that compiled code and plain Python would otherwise do differently, or more slowly."""

import math
from typing import Any


def int32(value: Any) -> Any:
    """Return an integer, which must be in [-2^31, 2^31); no code checks it.

    Plain Python returns the number unchanged. Compiled code continues with 32 bits, so that a vector holds
    twice as many numbers; a number outside the range wraps. Without this function, compiled integer
    arithmetic uses 64 bits, whatever the field types.
    """
    return value


def int64(value: Any) -> Any:
    """Return an integer that must lie in [-2^63, 2^63); compiled code does not check it.

    Raises:
        OverflowError: The integer is beyond 64 bits; compiled code would wrap it.
    """
    if -(1 << 63) <= value < 1 << 63:
        return value
    raise OverflowError(f"{value} is beyond 64 bits; use smaller numbers, or floats")


def divide(dividend: Any, divisor: Any) -> Any:
    """Return the quotient of two floats as IEEE 754 defines it; by zero it is inf, -inf or NaN."""
    if divisor != 0:
        return dividend / divisor
    if dividend == 0 or dividend != dividend:
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)
