"""Reads lengths of time: texts such as `15 min`, and `timedelta`."""

import re
from datetime import timedelta
from fractions import Fraction

from streamlab.workloads.datasets.times.recognition import PER_SECOND
from streamlab.workloads.model.errors import ModelError

_SECONDS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}
_LENGTH = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*")
_LONGEST = 1 << 60


def parse_duration(length: object, unit: str, place: str) -> int:
    """Return a length of time in a unit of event time (`s`, `ms`, `us` or `ns`), at least 1.

    Raises:
        ModelError: it is no length of time, no multiple of the unit, or out of range.
    """
    seconds = _seconds(length)
    if seconds is None:
        raise ModelError(
            f'{place} is {length!r:.60}; give a length of time such as "15 min" '
            f"({', '.join(_SECONDS)}) or a timedelta"
        )
    units = seconds * PER_SECOND[unit]
    if units.denominator != 1:
        raise ModelError(
            f"{place} is {length!r}, which is no multiple of 1 {unit}, the unit of event time; "
            'choose another length, or a finer unit of the input, such as unit="us"'
        )
    if not 1 <= units < _LONGEST:
        raise ModelError(f"{place} is {length!r}; give a length of 1 {unit} to 2^60 {unit}")
    return int(units)


def _seconds(length: object) -> Fraction | None:
    if isinstance(length, timedelta):
        return Fraction(length // timedelta(microseconds=1), 10**6)
    parts = _LENGTH.fullmatch(length) if isinstance(length, str) else None
    if parts is None or parts[2] not in _SECONDS:
        return None
    return Fraction(parts[1]) * _SECONDS[parts[2]]
