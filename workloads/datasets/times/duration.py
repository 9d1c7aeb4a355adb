"""Defines the units of event time, and reads durations: texts such as `1 hour 30 minutes`, and `timedelta`."""

import re
from datetime import timedelta
from fractions import Fraction

from streamlab.workloads.datasets.errors import DatasetError

PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""Number of units in a second."""
UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
"""Names of units for messages."""
FARTHEST = 2**61
"""Limit of the size of event times. Engines add window sizes below 2^60 to event times, in 64 bits."""

_UNITS = {
    "ns nanosecond nanoseconds": Fraction(1, 10**9),
    "us microsecond microseconds": Fraction(1, 10**6),
    "ms millisecond milliseconds": Fraction(1, 1000),
    "s second seconds": Fraction(1),
    "min minute minutes m": Fraction(60),
    "h hour hours": Fraction(3600),
    "d day days": Fraction(86400),
}
_SECONDS = {name: seconds for names, seconds in _UNITS.items() for name in names.split()}
_PART = r"(\d+(?:\.\d+)?)\s*([a-z]+)\s*"
_DURATION = re.compile(rf"\s*(?:{_PART})+")
_LONGEST = 1 << 60
"""Durations are below this number of units, so that they can be added to event times (`FARTHEST`)."""


def parse_duration(
    duration: object,
    unit: str,
    place: str,
    *,
    shortest: int = 0,
    error: type[Exception] = DatasetError,
) -> int:
    """Return a duration in a unit of event time.

    Args:
        duration: a text such as `1 h 30 min`, a `timedelta`, or a number of units.
        unit: `s`, `ms`, `us` or `ns`.
        place: the name of the argument in errors.
        shortest: the smallest valid number of units.
        error: the exception type to raise.

    Raises:
        Exception: `error`, if the duration has another form, is not a multiple of the unit, is shorter than
            `shortest`, or is not below 2^60 units.
    """
    units = _units(duration, unit)
    if units is None:
        raise error(
            f"{place} is {duration!r:.60}; give a duration such as '15 min' "
            f"or '1 h 30 min' ({', '.join(_SECONDS)}), a timedelta, or a number of {unit}"
        )
    if units.denominator != 1:
        raise error(
            f"{place} is {duration!r}, which is not a multiple of 1 {unit}, the unit of event time; "
            "give another duration, or a finer unit of the input, such as unit='us'"
        )
    if not shortest <= units < _LONGEST:
        raise error(f"{place} is {duration!r}; give {shortest} {unit} or more, below 2^60 {unit}")
    return int(units)


def _units(duration: object, unit: str) -> Fraction | None:
    """Return a duration in `unit`; None if it is not a duration."""
    if isinstance(duration, timedelta):
        return Fraction(duration // timedelta(microseconds=1), 10**6) * PER_SECOND[unit]
    if isinstance(duration, int) and not isinstance(duration, bool):
        return Fraction(duration)
    if not isinstance(duration, str) or not _DURATION.fullmatch(duration):
        return None
    parts = re.findall(_PART, duration)
    if any(name not in _SECONDS for _, name in parts):
        return None
    return sum((Fraction(n) * _SECONDS[name] for n, name in parts), Fraction()) * PER_SECOND[unit]
