"""Converts local times of a time zone to UTC."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.times.duration import PER_SECOND

_DAY_S = 86_400
Ints = npt.NDArray[np.int64]


def utc_times(values: Ints, unit: str, zone_name: str) -> tuple[Ints, dict[int, str], Ints]:
    """Convert local times of a zone, counted from 1970 in a unit, to UTC.

    Returns:
        The UTC times; by index, why a time does not exist; and the indices of times that the clock shows twice. Such a
        time becomes the earlier of the two UTC times.
    """
    bad: dict[int, str] = {}
    repeated: list[int] = []
    if zone_name == "UTC":
        return values, bad, np.array(repeated, np.int64)
    zone, per_second = ZoneInfo(zone_name), PER_SECOND[unit]
    seconds = values // per_second
    days, day = np.unique(seconds // _DAY_S, return_inverse=True)
    day_offsets = [_offset_s(zone, day_number) for day_number in days.tolist()]
    offsets = np.array(day_offsets, np.float64)[day]
    for row in np.flatnonzero(np.isnan(offsets)).tolist():  # the clocks change on that day
        time = _clock_time(int(seconds[row]))
        if time is None:
            bad[row] = f"{values[row]} is beyond the years 1 to 9999"
        elif is_missing(time, zone):
            bad[row] = explain_missing(str(time), zone_name)
        else:
            offsets[row] = _local_offset_s(time, zone)
            if is_repeated(time, zone):
                repeated.append(row)
    shift = np.nan_to_num(offsets).astype(np.int64) * per_second
    return values - shift, bad, np.array(repeated, np.int64)


def explain_missing(text: str, zone_name: str) -> str:
    """Return why a time that the clocks of a zone skipped is bad."""
    return f"{text!r} is in an hour that {zone_name} left out"


def is_missing(time: datetime, zone: ZoneInfo) -> bool:
    """Return whether the zone's clocks skipped this time."""
    back = time.replace(tzinfo=zone).astimezone(UTC).astimezone(zone)
    return back.replace(tzinfo=None) != time.replace(tzinfo=None)


def is_repeated(time: datetime, zone: ZoneInfo) -> bool:
    """Return whether the zone's clocks showed this time twice; it must not be missing."""
    local = time.replace(tzinfo=zone, fold=0)
    return local.utcoffset() != local.replace(fold=1).utcoffset()


def _offset_s(zone: ZoneInfo, day: int) -> float:
    """Return the offset of a day's local time from UTC in seconds; nan if it changes that day."""
    midnights = [_clock_time((day + after) * _DAY_S) for after in (0, 1)]
    offsets = {float("nan") if time is None else _local_offset_s(time, zone) for time in midnights}
    return offsets.pop() if len(offsets) == 1 else float("nan")


def _clock_time(second: int) -> datetime | None:
    """Return the local time `second` seconds after 1970 began; None outside the years 1 to 9999."""
    try:
        return datetime(1970, 1, 1) + timedelta(seconds=second)
    except OverflowError:
        return None


def _local_offset_s(time: datetime, zone: ZoneInfo) -> float:
    offset = time.replace(tzinfo=zone).utcoffset()
    assert offset is not None, "the time has a zone"
    return offset.total_seconds()
