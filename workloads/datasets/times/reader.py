"""Reads times from texts, one after another."""

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
from streamlab.workloads.datasets.times.zones import is_missing, is_repeated, explain_missing

HHMMSS = "hhmmss"
TIME_FORMATS = (ISO, *UNIT_NAMES, HHMMSS)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_HHMMSS = re.compile(r"(\d{2})(\d{2})(\d{2})\.?(\d*)")


def check_time_format(form: object, where: str) -> None:
    """Raise a `DatasetError` for an invalid form of times."""
    if form is None or form in TIME_FORMATS or (isinstance(form, str) and "%" in form):
        return
    raise DatasetError(
        f"{where} is {form!r}; give one of {', '.join(TIME_FORMATS)}, or a pattern such as "
        "'%m/%d/%y %H:%M'"
    )


def time_format_remedy(form: str) -> str:
    """Return the option that chooses the form of a table's times."""
    return f"--time-format {_quote(form)} (time_format={form!r})"


def time_remedy(form: str) -> str:
    """Return the option that chooses the form of times in an import by kind."""
    return f"--time {_quote(form)}"


class TimeReader:
    """Reads times of one form.

    Attributes:
        form: form of the times, see the package; None: recognized from the first rows.
        zone: IANA time zone of times without a zone.
        unit: unit of event time.
        used: whether a time was read.
        stamps: whether times are Arrow timestamps or dates.
    """

    def __init__(
        self,
        form: str | None = None,
        *,
        zone: str = "UTC",
        unit: str = "ms",
        remedy: Callable[[str], str] = time_remedy,
    ) -> None:
        self.time_format, self.zone, self.unit = form, zone, unit
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
    def numeric_unit(self) -> str | None:
        """The unit of times that are numbers; None if they are not."""
        form = self.recognition.time_format if self.time_format is None else self.time_format
        return self.unit if form == AS_IS else form if form in UNIT_NAMES else None

    def parse(self, text: str) -> int | str:
        """Return the time of a text without surrounding blanks, or why it is not a time."""
        if not text:
            return "is empty"
        form = self.recognition.time_format if self.time_format is None else self.time_format
        if form in (ISO, DAY_TIME):
            return self._parse_iso(text)
        if form == HHMMSS:
            return self._parse_hhmmss(text)
        if form is None or form in (DATES, AS_IS) or form in UNIT_NAMES:
            return self._parse_number(text)
        return self._parse_date(text, form)

    def count_repeated(self, rows: int, first: str) -> None:
        """Count rows whose time a clock showed twice."""
        self._repeated += rows
        self._first_repeated = self._first_repeated or first

    def merge(self, other: "TimeReader") -> None:
        """Add the counts of a reader of the same form over the next rows."""
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
        form = self.recognition.time_format if self.time_format is None else self.time_format
        if form == AS_IS or (form is None and not self.stamps):
            return "unknown"
        return "midnight" if DAY_TIME in (form, self.recognition.time_format) or form == HHMMSS else "1970"

    def _describe_format(self) -> str:
        here = f"those of {self.zone} where they name no zone"
        form = self.recognition.time_format if self.time_format is None else self.time_format
        if self.stamps and form is None:
            return f"timestamps, {here}"
        recognized = " (recognized)" if self.time_format is None else ""
        if form == AS_IS or form is None:
            return f"as they are, in {UNIT_NAMES[self.unit]}"
        if form in UNIT_NAMES:
            return f"{UNIT_NAMES[form]} since 1970{recognized}"
        if form == HHMMSS or self.recognition.time_format == DAY_TIME:
            return f"times of day, counted from midnight{recognized}"
        if self._with_zone and self._without_zone:
            here = (
                f"some name a zone, such as {self._with_zone}, and some do not, such as "
                f"{self._without_zone}, and are those of {self.zone}"
            )
        return f"{'ISO 8601' if form == ISO else form}, {here}{recognized}"

    def _parse_number(self, text: str) -> int | str:
        unit = self.numeric_unit
        if not is_number(text):
            if self.time_format is None and (form := recognize_text(text)):
                return self.recognition.explain_text(form, text)
            if unit:
                return f"{text[:60]!r} is not a number of {UNIT_NAMES[unit]}"
            return f"{text[:60]!r} is not a time; give the format of times (time_format=, --time-format)"
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
        form = ISO if day_time is None else DAY_TIME
        if form != self.recognition.time_format:
            return self.recognition.explain_text(form, text)
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


def _quote(form: str) -> str:
    return f"'{form}'" if "%" in form else form
