"""Reads lengths of time: texts such as `15 min`, and `timedelta`."""

import re
from datetime import timedelta
from fractions import Fraction

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.times.recognition import PER_SECOND

_SECONDS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*")
_LONGEST = 1 << 60


def parse_duration(
    duration: object,
    unit: str,
    place: str,
    *,
    shortest: int = 0,
    error: type[Exception] = DatasetError,
) -> int:
    """Return a length of time in a unit of event time (`s`, `ms`, `us` or `ns`).

    A number is in that unit already.

    Raises:
        Exception: `error`, if it is no length of time, no multiple of the unit, shorter than `shortest`
            or 2^60 units or longer.
    """
    units = _units(duration, unit)
    if units is None:
        raise error(
            f"{place} is {duration!r:.60}; give a duration such as '15 min' "
            f"({', '.join(_SECONDS)}), a timedelta, or a number of {unit}"
        )
    if units.denominator != 1:
        raise error(
            f"{place} is {duration!r}, which is no multiple of 1 {unit}, the unit of event time; "
            "give another duration, or a finer unit of the input, such as unit='us'"
        )
    if not shortest <= units < _LONGEST:
        raise error(f"{place} is {duration!r}; give {shortest} {unit} or more, below 2^60 {unit}")
    return int(units)


def _units(duration: object, unit: str) -> Fraction | None:
    if isinstance(duration, timedelta):
        return Fraction(duration // timedelta(microseconds=1), 10**6) * PER_SECOND[unit]
    if isinstance(duration, int) and not isinstance(duration, bool):
        return Fraction(duration)
    parts = _DURATION.fullmatch(duration) if isinstance(duration, str) else None
    if parts is None or parts[2] not in _SECONDS:
        return None
    return Fraction(parts[1]) * _SECONDS[parts[2]] * PER_SECOND[unit]
