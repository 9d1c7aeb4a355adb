"""Event times in the forms of real exports, to whole numbers of the unit of event time.

- A timestamp or date of Arrow is what it is.
- `s`, `ms`, `us` and `ns` are numbers since 1970, whole or with a fraction.
- `iso` is ISO 8601: a day, or a day and a time, with or without a zone.
- What has a `%` is a pattern of `strptime`, such as `%m/%d/%y %H:%M`; years of two digits are 1969
  to 2068.
- Without a format the first row tells: text that is no number is ISO 8601 (or as Twitter writes
  it); a number below 10^8 is taken as it is, in the unit of event time, below 10^11 it is seconds
  since 1970, below 10^14 milliseconds, below 10^17 microseconds, else nanoseconds. One form then
  holds for all rows.

Times that name no zone are those of `zone`. Where clocks were put back an hour comes twice; its
times are taken for the first. Where they were put forward an hour is missing; its times are bad.
Fractions of the unit are cut down.
"""

import itertools
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.times import twitter_ms

if TYPE_CHECKING:
    import pyarrow as pa

FARTHEST = 2**61
"""Event times end here: engines add windows to them, in 64 bits."""

_DAY_S = 86_400
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_FROM = ((10**8, ""), (10**11, "s"), (10**14, "ms"), (10**17, "us"))
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_FINER = re.compile(r"[.,]\d{6}(\d{1,3})")
"""The digits of a fraction of a second that a `datetime` does not have."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MOST_KNOWN = 1 << 20
"""Texts whose times are remembered: those of minutes and days come again and again."""

Times = tuple[npt.NDArray[np.int64], dict[int, str]]
"""Times of all rows (0 where there is none), and why rows have none."""


class Clock:
    """Reads the times of a table, a column after another."""

    def __init__(self, form: str | None, zone: str, unit: str) -> None:
        self._form, self._zone, self._unit = form, zone, unit
        self._seen = form is None
        self._known: dict[str, int | str] = {}

    def words(self) -> str:
        """Return how times were read, for people."""
        here = f"those of {self._zone} where they name no zone"
        if self._form is None:
            return f"timestamps, {here}"
        if self._form == "":
            return f"as they are, in {_NAMES[self._unit]}"
        known = self._form in _NAMES
        name = "ISO 8601" if self._form == "iso" else self._form
        form = f"{_NAMES[self._form]} since 1970" if known else f"{name}, {here}"
        return f"{form} (seen from the first row)" if self._seen else form

    def read(self, column: "pa.Array", place: str) -> Times:
        """Return the times of a column.

        Raises:
            DatasetError: no column of this type holds times, or not in this form.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.dictionary_decode(), kind.value_type
        if pa.types.is_null(kind):
            return np.zeros(len(column), np.int64), dict.fromkeys(range(len(column)), "is empty")
        if pa.types.is_date(kind):
            column = column.cast(pa.timestamp("s" if pa.types.is_date32(kind) else "ms"))
            kind = column.type
        if pa.types.is_timestamp(kind):
            if self._form is not None and not self._seen:
                raise DatasetError(
                    f"{place}: the times are of type {kind} already; leave out the time format "
                    f"({self._form})"
                )
            return self._stamped(column)
        if pa.types.is_integer(kind):
            return self._whole(column, place)
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            column = pc.if_else(pc.is_finite(column), column, None) if kind in _floats() else column
            return self._texts(column.cast(pa.string()), place)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return self._texts(column, place)
        raise DatasetError(f"{place}: a column of type {kind} holds no times")

    def _stamped(self, column: "pa.Array") -> Times:
        import pyarrow as pa

        bad = {int(row): "is empty" for row in np.flatnonzero(~_valid(column))}
        zone, unit = column.type.tz, column.type.unit
        values = np.asarray(column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False))
        if zone is None:
            values, missing = self._placed(values, unit)
            bad = {**missing, **bad}
        return self._scaled(values, unit, bad)

    def _whole(self, column: "pa.Array", place: str) -> Times:
        import pyarrow as pa

        bad = {int(row): "is empty" for row in np.flatnonzero(~_valid(column))}
        values = column.fill_null(0).to_numpy(zero_copy_only=False)
        if values.dtype == np.uint64:
            far = np.flatnonzero(values > np.uint64(FARTHEST))
            bad.update({int(row): f"{values[row]} is beyond 2^61" for row in far})
            values = np.where(values > np.uint64(FARTHEST), 0, values)
        values = values.astype(np.int64)
        if self._form is None and len(bad) < len(column):
            self._see(str(next(int(v) for row, v in enumerate(values) if row not in bad)))
        if self._form is not None and self._form not in ("", *_NAMES):
            return self._texts(column.cast(pa.string()), place)  # 20240131, of a pattern
        return self._scaled(values, self._form or self._unit, bad)

    def _texts(self, column: "pa.Array", place: str) -> Times:
        import pyarrow.compute as pc

        coded = pc.utf8_trim_whitespace(column).dictionary_encode(null_encoding="mask")
        texts: list[str] = coded.dictionary.to_pylist()
        if self._form is None:
            first = next((text for text in texts if text), None)
            if first is None:
                return np.zeros(len(column), np.int64), dict.fromkeys(
                    range(len(column)), "is empty"
                )
            self._see(first)
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        found = self._quick(coded.dictionary)
        if found is None:
            read, known = self._reader(), self._known
            for text in texts:
                if text not in known:
                    known[text] = read(text)
            each = [known[text] for text in texts]
            wrong = {index: why for index, why in enumerate(each) if isinstance(why, str)}
            found = np.array([0 if isinstance(v, str) else v for v in each], np.int64), wrong
        times, wrong = found
        codes = np.asarray(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False))
        bad = {int(row): "is empty" for row in np.flatnonzero(codes < 0)}
        if wrong:
            for row in np.flatnonzero(np.isin(codes, list(wrong))):
                bad[int(row)] = wrong[int(codes[row])]
        if not len(times):
            return np.zeros(len(codes), np.int64), bad
        return np.where(codes < 0, 0, times[codes]), bad

    def _see(self, text: str) -> None:
        """Take the form of a first time."""
        self._form = "iso"
        if _NUMBER.fullmatch(text):
            size = abs(Fraction(text))
            self._form = next((form for below, form in _FROM if size < below), "ns")

    def _quick(self, texts: "pa.Array") -> Times | None:
        """Return the times of texts that Arrow can read at once; None where it cannot."""
        import pyarrow as pa

        try:
            if self._form == "iso":
                for unit, zone in itertools.product(("us", "ns"), (None, "UTC")):
                    with suppress(pa.ArrowInvalid):  # too many digits, or too far from 1970
                        return self._stamped(texts.cast(pa.timestamp(unit, zone)))
            if self._form in ("", *_NAMES) and not _hexadecimal(texts):
                values = texts.cast(pa.int64()).to_numpy(zero_copy_only=False)
                return self._scaled(np.asarray(values), self._form or self._unit, {})
        except pa.ArrowInvalid:
            pass
        return None

    def _reader(self) -> Callable[[str], int | str]:
        """Return what gives the time of a text, or why it is none."""
        form, per_second = self._form, _PER_SECOND[self._unit]
        if form in ("", *_NAMES):
            divisor = _PER_SECOND[form or self._unit]
            return lambda text: _number(text, form or self._unit, per_second, divisor)
        if form == "iso":
            remedy = "; say how times are written (time_format, --time-format)" * self._seen
            return lambda text: self._local(text, _iso, f"is no ISO 8601 time{remedy}")
        assert form is not None
        return lambda text: self._local(
            text, lambda text: (datetime.strptime(text, form), 0), f"is not of the form {form}"
        )

    def _local(
        self, text: str, read: Callable[[str], tuple[datetime, int]], wrong: str
    ) -> int | str:
        try:
            time, ns = read(text)
        except (ValueError, OverflowError):
            return f"{text[:60]!r} {wrong}" if text else "is empty"
        if time.tzinfo is None:
            zone = ZoneInfo(self._zone)
            time = time.replace(tzinfo=zone)
            if _missing(time, zone):
                return f"{text!r} is in an hour that {self._zone} left out"
        since_ns = ((time - _EPOCH) // _MICROSECOND) * 1_000 + ns
        return since_ns * _PER_SECOND[self._unit] // _PER_SECOND["ns"]

    def _placed(self, values: npt.NDArray[np.int64], unit: str) -> Times:
        """Return times of the zone's clocks as those of UTC."""
        if self._zone == "UTC":
            return values, {}
        zone, per_second = ZoneInfo(self._zone), _PER_SECOND[unit]
        seconds = values // per_second
        days, day = np.unique(seconds // _DAY_S, return_inverse=True)
        offsets = np.array([_offset_s(zone, found) for found in days.tolist()], np.float64)
        found, bad = offsets[day], {}
        for row in np.flatnonzero(np.isnan(found)):  # clocks are changed on that day
            second = int(seconds[row])
            time = _clock_time(second)
            if time is None:
                bad[int(row)] = f"{values[row]} is beyond the years 1 to 9999"
            elif _missing(time.replace(tzinfo=zone), zone):
                bad[int(row)] = f"'{time}' is in an hour that {self._zone} left out"
            else:
                found[row] = _seconds(time.replace(tzinfo=zone).utcoffset())
        return values - np.nan_to_num(found).astype(np.int64) * per_second, bad

    def _scaled(self, values: npt.NDArray[np.int64], unit: str, bad: dict[int, str]) -> Times:
        """Return times of a unit in that of event time."""
        before, after = _PER_SECOND[unit], _PER_SECOND[self._unit]
        most = min(2**63 - 1, FARTHEST * before // after)
        far = np.flatnonzero((values > most) | (values < -most))
        for row in far:
            bad.setdefault(int(row), f"{values[row]} is beyond 2^61 {_NAMES[self._unit]}")
        if len(far):
            values = np.where((values > most) | (values < -most), 0, values)
        return values // (before // after) if after <= before else values * (after // before), bad


def _number(text: str, unit: str, per_second: int, divisor: int) -> int | str:
    if not text:
        return "is empty"
    if not _NUMBER.fullmatch(text):
        return f"{text[:60]!r} is no number of {_NAMES[unit]}"
    time = Fraction(text) * per_second // divisor
    return time if abs(time) <= FARTHEST else f"{text[:60]} is beyond 2^61"


def _iso(text: str) -> tuple[datetime, int]:
    """Return an ISO 8601 time, or one as Twitter writes it, and nanoseconds to add to it.

    Raises:
        ValueError: it is neither.
    """
    try:
        time, finer = datetime.fromisoformat(text), _FINER.search(text)
        return time, int(finer[1].ljust(3, "0")) if finer else 0
    except ValueError:
        return _EPOCH + timedelta(milliseconds=twitter_ms(text)), 0


def _missing(time: datetime, zone: ZoneInfo) -> bool:
    """Tell whether no clock of the zone ever showed this time."""
    back = time.astimezone(UTC).astimezone(zone)
    return back.replace(tzinfo=None) != time.replace(tzinfo=None)


def _hexadecimal(texts: "pa.Array") -> bool:
    """Tell whether Arrow might take one for a hexadecimal number."""
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py())


def _offset_s(zone: ZoneInfo, day: int) -> float:
    """Return the offset of a day's clocks from UTC in seconds; nan where it changes."""
    midnights = [_clock_time((day + after) * _DAY_S) for after in (0, 1)]
    found = {_seconds(time.replace(tzinfo=zone).utcoffset()) for time in midnights if time}
    return found.pop() if len(found) == 1 and None not in midnights else float("nan")


def _clock_time(second: int) -> datetime | None:
    """Return what a clock shows that many seconds after it showed 1970; None: no such year."""
    try:
        return datetime(1970, 1, 1) + timedelta(seconds=second)
    except OverflowError:
        return None


def _seconds(offset: timedelta | None) -> float:
    assert offset is not None, "the time has a zone"
    return offset.total_seconds()


def _valid(column: "pa.Array") -> npt.NDArray[np.bool_]:
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False))


def _floats() -> tuple["pa.DataType", ...]:
    import pyarrow as pa

    return pa.float16(), pa.float32(), pa.float64()
