"""Times and prices as trade files have them."""

import re
from datetime import time
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from workloads.datasets.imports.kind import BadRowError
from workloads.datasets.imports.times import time_ms

TIMES = ("auto", "ms", "s", "hhmmss", "iso")
"""Milliseconds, seconds, a time of day as digits, ISO 8601 with or without its day; auto tells
numbers of ms from ISO."""

_NUMBER = re.compile(r"\d+(\.\d+)?")
_HHMMSS = re.compile(r"(\d{2})(\d{2})(\d{2})\.?(\d*)")
_INT32_MAX = 2**31 - 1


def trade_ms(text: str, form: str) -> int:
    """Return the milliseconds of a time in one of `TIMES`, cut down.

    They count from 1970 where the text has a day, or counts from then; otherwise from midnight.

    Raises:
        BadRowError: it is no time in that form.
    """
    text = text.strip()
    if form == "auto":
        form = "ms" if _NUMBER.fullmatch(text) else "iso"
    if form == "hhmmss":
        found = _HHMMSS.fullmatch(text)
        day = found and _of_day(f"{found[1]}:{found[2]}:{found[3]}.{found[4]:0<6.6}")
        if day is None:
            raise BadRowError(f"column ts is {text!r}, not a time as hhmmss")
        return day
    if form == "iso" and (day := _of_day(text)) is not None:
        return day
    return time_ms(text, form)


def _of_day(text: str) -> int | None:
    try:
        day = time.fromisoformat(text)
    except ValueError:
        return None
    seconds = day.hour * 3600 + day.minute * 60 + day.second
    return seconds * 1000 + day.microsecond // 1000


def whole_price(text: str, scale: float, decimals: int) -> int:
    """Return a price as a number of units of its last decimal, rounded half up.

    Args:
        text: the price times `scale`.
        scale: above 0.
        decimals: that are kept.

    Raises:
        BadRowError: it is no number, not above 0, or does not fit 32 bits.
    """
    try:
        price = Decimal(text.strip()) / Decimal(repr(scale)) * 10**decimals
        whole = int(price.quantize(Decimal(1), ROUND_HALF_UP))
    except (InvalidOperation, ValueError) as error:
        raise BadRowError(f"column price is {text!r}, not a price") from error
    if not 0 < whole <= _INT32_MAX:
        raise BadRowError(
            f"column price is {text!r}: {whole} in units of 10^-{decimals}; it must be above 0 "
            f"and at most {_INT32_MAX}"
        )
    return whole
