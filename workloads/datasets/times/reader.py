"""Reads times from single texts."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.times.duration import FARTHEST, PER_SECOND, UNIT_NAMES
from streamlab.workloads.datasets.times.recognition import (
    AS_IS,
    DATES,
    DAY_TIME,
    ISO,
    Recognition,
    finer_ns,
    is_number,
    parse_day_time,
    parse_iso,
    recognize_text,
)
from streamlab.workloads.datasets.times.zones import explain_missing, is_missing, is_repeated

HHMMSS = "hhmmss"
TIME_FORMATS = (ISO, *UNIT_NAMES, HHMMSS)
"""The formats with a name. Other formats are patterns."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_HHMMSS = re.compile(r"(\d{2})(\d{2})(\d{2})\.?(\d*)")


def check_time_format(time_format: object, where: str) -> None:
    """Raise a `DatasetError` for an invalid format of times."""
    if (
        time_format is None
        or time_format in TIME_FORMATS
        or (isinstance(time_format, str) and "%" in time_format)
    ):
        return
    raise DatasetError(
        f"{where} is {time_format!r}; give one of {', '.join(TIME_FORMATS)}, or a pattern such as "
        "'%m/%d/%y %H:%M'"
    )


def time_format_remedy(time_format: str) -> str:
    """Return the option that chooses the format of a table's times."""
    return f"--time-format {_quote(time_format)} (time_format={time_format!r})"


def time_remedy(time_format: str) -> str:
    """Return the option that chooses the format of times in an import by kind."""
    return f"--time {_quote(time_format)}"


class TimeReader:
    """Reads times of one format.

    Attributes:
        time_format: the format of the times (see the package); None if it is recognized from the first rows.
        zone: IANA time zone of times without a zone.
        unit: unit of event time.
        recognition: recognizes the format if `time_format` is None.
        repeated_texts: texts with a time that the clocks of `zone` showed twice.
        used: whether a time was read.
        stamps: whether times are Arrow timestamps or dates.
    """

    def __init__(
        self,
        time_format: str | None = None,
        *,
        zone: str = "UTC",
        unit: str = "ms",
        remedy: Callable[[str], str] = time_remedy,
    ) -> None:
        self.time_format, self.zone, self.unit = time_format, zone, unit
        self.recognition = Recognition(unit, remedy)
        self.repeated_texts: set[str] = set()
        self.used = self.stamps = False
        self._with_zone = self._without_zone = ""
        self._repeated, self._first_repeated = 0, ""

    @property
    def repeated(self) -> int:
        """The number of rows whose time a clock showed twice."""
        return self._repeated

    @property
    def effective_format(self) -> str | None:
        """The stated format, otherwise the recognized one; None if not decided."""
        return self.recognition.time_format if self.time_format is None else self.time_format

    @property
    def numeric_unit(self) -> str | None:
        """The unit of times that are numbers; None for other times."""
        time_format = self.effective_format
        if time_format == AS_IS:
            return self.unit
        return time_format if time_format in UNIT_NAMES else None

    def parse(self, text: str) -> int | str:
        """Return the time of a text without surrounding blanks, or why it is not a time."""
        if not text:
            return "is empty"
        time_format = self.effective_format
        if time_format in (ISO, DAY_TIME):
            return self._parse_iso(text)
        if time_format == HHMMSS:
            return self._parse_hhmmss(text)
        if time_format is None or time_format in (DATES, AS_IS) or time_format in UNIT_NAMES:
            return self._parse_number(text)
        return self._parse_date(text, time_format)

    def count_repeated(self, rows: int, first: str) -> None:
        """Count rows whose time a clock showed twice."""
        self._repeated += rows
        self._first_repeated = self._first_repeated or first

    def merge(self, other: "TimeReader") -> None:
        """Add the counts of a reader of the same format over the next rows."""
        self.used |= other.used
        self.stamps |= other.stamps
        self.recognition.merge(other.recognition)
        self._with_zone = self._with_zone or other._with_zone
        self._without_zone = self._without_zone or other._without_zone
        self.count_repeated(other.repeated, other._first_repeated)

    def note_zone(self, text: str, *, named: bool) -> None:
        """Note whether a time names its zone."""
        if named:
            self._with_zone = self._with_zone or text
        else:
            self._without_zone = self._without_zone or text

    def report(self) -> dict[str, object]:
        """Return how times were read, for the record of an import; empty if none were read."""
        if not self.used:
            return {}
        return {
            "times": self._describe_format(),
            "counted_from": self._origin(),
            "zone": self.zone,
            "unit": self.unit,
            "repeated_times": self._repeated,
            "first_repeated_time": self._first_repeated,
        }

    def _origin(self) -> str:
        """Return the origin of times: `1970`, `midnight` or `unknown`."""
        time_format = self.effective_format
        if time_format == AS_IS or (time_format is None and not self.stamps):
            return "unknown"
        is_day_time = DAY_TIME in (time_format, self.recognition.time_format)
        return "midnight" if is_day_time or time_format == HHMMSS else "1970"

    def _describe_format(self) -> str:
        zone_text = f"those of {self.zone} where they name no zone"
        time_format = self.effective_format
        if self.stamps and time_format is None:
            return f"timestamps, {zone_text}"
        recognized = " (recognized)" if self.time_format is None else ""
        if time_format == AS_IS or time_format is None:
            return f"as they are, in {UNIT_NAMES[self.unit]}"
        if time_format in UNIT_NAMES:
            return f"{UNIT_NAMES[time_format]} since 1970{recognized}"
        if time_format == HHMMSS or self.recognition.time_format == DAY_TIME:
            return f"times of day, counted from midnight{recognized}"
        if self._with_zone and self._without_zone:
            zone_text = (
                f"some name a zone, such as {self._with_zone}, and some do not, such as "
                f"{self._without_zone}, and are those of {self.zone}"
            )
        return f"{'ISO 8601' if time_format == ISO else time_format}, {zone_text}{recognized}"

    def _parse_number(self, text: str) -> int | str:
        unit = self.numeric_unit
        if not is_number(text):
            if self.time_format is None and (time_format := recognize_text(text)):
                return self.recognition.explain_text(time_format, text)
            if unit:
                return f"{text[:60]!r} is not a number of {UNIT_NAMES[unit]}"
            return (
                f"{text[:60]!r} is not a time; give the time format (time_format=, --time-format)"
            )
        if self.time_format is None and not self.recognition.admits(abs(float(text))):
            return self.recognition.explain_number(text)
        assert unit is not None, "recognition chose a unit for numbers"
        number, parts = _ratio(text)
        if self.recognition.time_format == AS_IS and number % parts:
            return self.recognition.explain_fraction(text)
        event_time = number * PER_SECOND[self.unit] // (parts * PER_SECOND[unit])
        return event_time if abs(event_time) <= FARTHEST else f"{text[:60]} is beyond 2^61"

    def _parse_iso(self, text: str) -> int | str:
        try:
            moment: tuple[datetime, int] | None = parse_iso(text)
        except (ValueError, OverflowError):
            moment = None
        day_time = parse_day_time(text) if moment is None else None
        if moment is None and day_time is None:
            if self.time_format is None and is_number(text):
                return self.recognition.explain_number(text)
            return f"{text[:60]!r} is not an ISO 8601 time"
        time_format = ISO if day_time is None else DAY_TIME
        if time_format != self.recognition.time_format:
            return self.recognition.explain_text(time_format, text)
        if moment is not None:
            return self._event_time(text, *moment)
        assert day_time is not None, "the text is a moment or a time of day"
        return self._since_midnight(day_time, finer_ns(text))

    def _parse_hhmmss(self, text: str) -> int | str:
        parts = _HHMMSS.fullmatch(text)
        try:
            assert parts is not None
            day_time = time(int(parts[1]), int(parts[2]), int(parts[3]))
        except (AssertionError, ValueError):
            return f"{text[:60]!r} is not a time as hhmmss"
        return self._since_midnight(day_time, int(f"{parts[4]:0<9.9}"))

    def _since_midnight(self, day_time: time, ns: int) -> int:
        seconds = (day_time.hour * 60 + day_time.minute) * 60 + day_time.second
        ns += (seconds * 1_000_000 + day_time.microsecond) * 1_000
        return ns * PER_SECOND[self.unit] // PER_SECOND["ns"]

    def _parse_date(self, text: str, pattern: str) -> int | str:
        try:
            moment = datetime.strptime(text, pattern)
        except (ValueError, OverflowError):
            return f"{text[:60]!r} is not of the form {pattern}"
        return self._event_time(text, moment, 0)

    def _event_time(self, text: str, moment: datetime, ns: int) -> int | str:
        """Return the event time of a moment, which is in the reader's zone if it has none."""
        self.note_zone(text, named=moment.tzinfo is not None)
        if moment.tzinfo is None and self.zone != "UTC":
            zone = ZoneInfo(self.zone)
            if is_missing(moment, zone):
                return explain_missing(text, self.zone)
            if is_repeated(moment, zone):
                self.repeated_texts.add(text)
            moment = moment.replace(tzinfo=zone)
        elif moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        since_ns = ((moment - _EPOCH) // _MICROSECOND) * 1_000 + ns
        return since_ns * PER_SECOND[self.unit] // PER_SECOND["ns"]


def _ratio(text: str) -> tuple[int, int]:
    """Return a number as a fraction: numerator and denominator."""
    integer, _, digits = text.partition(".")
    if (integer.lstrip("+-") + digits).isdecimal():  # without an exponent
        return int(integer + digits), 10 ** len(digits)
    return Fraction(text).as_integer_ratio()


def _quote(time_format: str) -> str:
    return f"'{time_format}'" if "%" in time_format else time_format
