"""Reads durations such as `10 min`."""

import re

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.times.recognition import PER_SECOND

_NS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "sec": 10**9,
    "min": 60 * 10**9,
    "h": 3_600 * 10**9,
    "d": 86_400 * 10**9,
}
_DURATION = re.compile(r"\s*(\d+)\s*([a-z]+)\s*")


def parse_duration(duration: int | str, unit: str, where: str) -> int:
    """Return a duration, such as `10 min`, in a unit of event time; a number is in that unit already.

    Raises:
        DatasetError: it is no duration, negative, or not a whole number of units.
    """
    if isinstance(duration, int) and not isinstance(duration, bool) and duration >= 0:
        return duration
    match = _DURATION.fullmatch(duration) if isinstance(duration, str) else None
    if match is None or match[2] not in _NS:
        raise DatasetError(
            f"{where} is {duration!r}; give a duration such as '10 min' or '500 ms' "
            f"(units: {', '.join(_NS)}), or a number of {unit}"
        )
    nanoseconds = int(match[1]) * _NS[match[2]]
    per_unit = 10**9 // PER_SECOND[unit]
    if nanoseconds % per_unit:
        raise DatasetError(
            f"{where} is {duration!r}, which is no whole number of {unit}, the unit of event time; "
            "give the tables a finer one (unit=...)"
        )
    return nanoseconds // per_unit
