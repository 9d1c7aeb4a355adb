"""Converts local times of a time zone to UTC."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.times.recognition import PER_SECOND

_DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class UtcTimes:
    """Local times converted to UTC.

    Attributes:
        values: the UTC times.
        bad: why a time does not exist, by index.
        repeated: indices of times that the clock shows twice; the value is the earlier one.
    """

    values: npt.NDArray[np.int64]
    bad: dict[int, str]
    repeated: npt.NDArray[np.int64]


def utc_times(values: npt.NDArray[np.int64], unit: str, zone_name: str) -> UtcTimes:
    """Convert local times of a zone, counted from 1970 in a unit, to UTC."""
    none_repeated = np.empty(0, np.int64)
    if zone_name == "UTC":
        return UtcTimes(values=values, bad={}, repeated=none_repeated)
    zone, per_second = ZoneInfo(zone_name), PER_SECOND[unit]
    seconds = values // per_second
    days, day = np.unique(seconds // _DAY_S, return_inverse=True)
    offsets = np.array([_offset_s(zone, each) for each in days.tolist()], np.float64)[day]
    bad: dict[int, str] = {}
    repeated: list[int] = []
    for row in np.flatnonzero(np.isnan(offsets)).tolist():  # the clocks change on that day
        time = _clock_time(int(seconds[row]))
        if time is None:
            bad[row] = f"{values[row]} is beyond the years 1 to 9999"
        elif is_missing(time, zone):
            bad[row] = missing_words(str(time), zone_name)
        else:
            offsets[row] = _seconds(time.replace(tzinfo=zone).utcoffset())
            if is_repeated(time, zone):
                repeated.append(row)
    shift = np.nan_to_num(offsets).astype(np.int64) * per_second
    return UtcTimes(values=values - shift, bad=bad, repeated=np.array(repeated, np.int64))


def missing_words(text: str, zone_name: str) -> str:
    """Return why a time is bad that the clocks of a zone skipped."""
    return f"{text!r} is in an hour that {zone_name} left out"


def is_missing(time: datetime, zone: ZoneInfo) -> bool:
    """Return whether the zone's clocks skipped this time."""
    back = time.replace(tzinfo=zone).astimezone(UTC).astimezone(zone)
    return back.replace(tzinfo=None) != time.replace(tzinfo=None)


def is_repeated(time: datetime, zone: ZoneInfo) -> bool:
    """Return whether the zone's clocks showed this time twice; it must not be missing."""
    here = time.replace(tzinfo=zone, fold=0)
    return here.utcoffset() != here.replace(fold=1).utcoffset()


def _offset_s(zone: ZoneInfo, day: int) -> float:
    """Return the offset of a day's local time from UTC in seconds; nan if it changes that day."""
    midnights = [_clock_time((day + after) * _DAY_S) for after in (0, 1)]
    offsets = {_seconds(time.replace(tzinfo=zone).utcoffset()) for time in midnights if time}
    return offsets.pop() if len(offsets) == 1 and None not in midnights else float("nan")


def _clock_time(second: int) -> datetime | None:
    """Return the local time `second` seconds after 1970 began; None outside of years 1 to 9999."""
    try:
        return datetime(1970, 1, 1) + timedelta(seconds=second)
    except OverflowError:
        return None


def _seconds(offset: timedelta | None) -> float:
    assert offset is not None, "the time has a zone"
    return offset.total_seconds()
