"""Ids and amounts of money as retail files have them."""

import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from workloads.datasets.imports.kind import BadRowError

_WHOLE = re.compile(r"[+-]?\d{1,19}(\.0*)?", re.ASCII)
_CENTS_BELOW = 2**53
"""Sums of a few hundred such amounts fit 64 bits, and each is exact as a double."""


def whole(role: str, text: str, *, bits: int, lowest: int = 0) -> int:
    """Return a whole number, which may be written with a fraction of 0.

    Args:
        role: what it is, for messages.
        text: the number.
        bits: width of the signed integer that it must fit.
        lowest: it must not be below.

    Raises:
        BadRowError: it is none, or out of range.
    """
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        raise BadRowError(f"column {role} is {text!r}, not a whole number")
    value = int(text.partition(".")[0])
    if not lowest <= value < 1 << bits - 1:
        raise BadRowError(
            f"column {role} is {text}; it must be at least {lowest} and below 2^{bits - 1}"
        )
    return value


def cents(role: str, text: str) -> int:
    """Return an amount of money in cents, rounded half up (away from 0); it may be negative.

    Raises:
        BadRowError: it is no number, or beyond 2^53 cents.
    """
    try:
        value = int((Decimal(text.strip()) * 100).quantize(Decimal(1), ROUND_HALF_UP))
    except (InvalidOperation, ValueError, OverflowError) as error:
        raise BadRowError(f"column {role} is {text!r}, not an amount of money") from error
    if abs(value) >= _CENTS_BELOW:
        raise BadRowError(f"column {role} is {text!r}; it must be below 2^53 cents")
    return value
