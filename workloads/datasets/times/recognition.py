"""Recognizes the format of times by the majority of the first rows.

All rows must have the same format. A row of another format is bad. The reason names both formats, and the option that
chooses one of them. docs/data.md lists the formats and the sizes of numbers.

If numbers grow from small ones in steps below a factor of ten, all count the unit of event time. The same instant in
another unit would differ by a factor of a thousand.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime, time

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.times.duration import UNIT_NAMES

AS_IS, ISO, DAY_TIME, DATES = "", "iso", "time of day", "dates as numbers"
"""Formats other than the units. AS_IS: numbers that count the unit of event time from an unknown origin."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_MAX_DIGITS = 400
"""A longer text is not a number. No float has more than 309 digits before its point."""
_BOUNDS = np.array([1e8, 1e11, 1e14, 1e17, 1e20])
"""Upper bounds of the sizes of `_BY_SIZE`. In seconds since 1970, 1e8 is in 1973, and 1e11 is in 5138."""
_BY_SIZE = (AS_IS, "s", "ms", "us", "ns")
"""The format of a number by its size."""
_GAP = 10.0
"""The largest factor between neighbouring sizes that count the same unit."""
_DATE_PATTERNS = {
    8: ("%Y%m%d", "%d%m%Y", "%m%d%Y"),
    10: ("%Y%m%d%H",),
    12: ("%Y%m%d%H%M",),
    14: ("%Y%m%d%H%M%S",),
    17: ("%Y%m%d%H%M%S%f",),
}
"""Patterns of dates as numbers, by their number of digits."""
_FINER = re.compile(r"[.,]\d{6}(\d{1,3})")
"""The digits of a fraction of a second beyond the resolution of `datetime`."""
_LENGTH_US = len("20240131T093000.123456")
"""Length of the shortest day and time with microseconds. A finer fraction makes it longer."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TWITTER = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d{2}) (\d{2}:\d{2}:\d{2}) ([+-]\d{2})(\d{2}) (\d{4})"
)
_YEARS = range(1900, 2100)
"""Years in which digits can be a date."""
_MAX_SAMPLED = 1_000
"""Maximum number of texts, roughly, whose digits are compared with date patterns."""

Ints = npt.NDArray[np.int64]
Sizes = npt.NDArray[np.float64]
"""The absolute values of numbers."""


class Recognition:
    """Decides the format of times once, and finds rows of other formats.

    Args:
        unit: the unit of event time.
        remedy: returns the option that chooses a format.

    Attributes:
        time_format: a unit, AS_IS, ISO, DAY_TIME or DATES; None if not decided.
    """

    def __init__(self, unit: str, remedy: Callable[[str], str]) -> None:
        self.time_format: str | None = None
        self._unit, self._remedy = unit, remedy
        # The absolute values of numbers in the format are at least `low` and below `high`.
        self._low = self._high = 0.0
        self._pattern = ""  # of DATES
        self._evidence = ""  # for the decision, in words

    def decide(
        self, texts: Sequence[str], counts: Ints, row: Callable[[int], str], *, numbers: bool
    ) -> None:
        """Decide from the distinct texts of the first rows.

        Args:
            texts: the texts, in the order of their first rows.
            counts: the number of rows of each text.
            row: names the first row of the text with an index.
            numbers: whether a text may be a number. If not, digits alone are dates.
        """
        total = int(counts.sum())
        number_indices = [i for i, text in enumerate(texts) if numbers and is_number(text)]
        number_rows = int(counts[number_indices].sum())
        rows, first = {ISO: 0, DAY_TIME: 0}, dict[str, int]()
        if 2 * number_rows <= total:
            for index, text in enumerate(texts):
                if recognized := recognize_text(text):
                    rows[recognized] += int(counts[index])
                    first.setdefault(recognized, index)
        time_format = max(rows, key=rows.__getitem__)
        if number_indices and (number_rows >= rows[time_format] or time_format not in first):
            number_texts = [texts[i] for i in number_indices]
            example, alike = self._decide_numbers(number_texts, counts[number_indices])
            index = number_indices[example]
            self._evidence = _describe_evidence(alike, total, texts[index], row(index))
        elif time_format in first:
            self.time_format, index = time_format, first[time_format]
            alike = rows[time_format]
            self._evidence = _describe_evidence(alike, total, repr(texts[index]), row(index))

    def _decide_numbers(self, texts: Sequence[str], counts: Ints) -> tuple[int, int]:
        """Decide from numbers; return the index of the first number in that format, and the count of such rows."""
        sizes = np.array([abs(float(text)) for text in texts])
        sample = range(0, len(texts), max(1, len(texts) // _MAX_SAMPLED))
        patterns = {i: _date_pattern(texts[i]) for i in sample} if _may_be_dates(sizes) else {}
        for pattern in filter(None, dict.fromkeys(patterns.values())):
            alike = [i for i, other in patterns.items() if other == pattern]
            if 2 * counts[alike].sum() > counts[list(patterns)].sum():
                self.time_format, self._pattern = DATES, pattern
                return alike[0], int(counts[alike].sum())
        looks = np.searchsorted(_BOUNDS, sizes, side="right")
        if (looks == 0).any():
            self._high = float(_BOUNDS[0])
            self._extend_range(sizes)
            looks[sizes < self._high] = 0
        rows = np.bincount(looks, weights=counts, minlength=len(_BOUNDS) + 1)[: len(_BOUNDS)]
        if not rows.any():
            return 0, 0
        index = int(np.flatnonzero(np.isin(looks, np.flatnonzero(rows == rows.max())))[0])
        look = int(looks[index])
        self.time_format = _BY_SIZE[look]
        if look:
            self._low, self._high = float(_BOUNDS[look - 1]), float(_BOUNDS[look])
        return index, int(rows[look])

    def merge(self, other: "Recognition") -> None:
        """Add the recognition of the next rows: its decision, or its larger range of numbers."""
        if self.time_format is None:
            vars(self).update(vars(other))
        elif self.time_format == AS_IS:
            self._high = max(self._high, other._high)

    def includes(self, other: "Recognition") -> bool:
        """Return whether this decided format includes all numbers of another recognition's decided format."""
        return (
            self.time_format == other.time_format
            and self._low <= other._low
            and self._high >= other._high
        )

    def foreign_mask(self, sizes: Sizes) -> npt.NDArray[np.bool_]:
        """Return the mask of the numbers that are not of the decided format; may extend its range (AS_IS)."""
        if self.time_format == AS_IS:
            self._extend_range(sizes)
        return np.asarray((sizes < self._low) | (sizes >= self._high))

    def admits(self, size: float) -> bool:
        """Return whether a number is of the decided format; may extend its range (AS_IS)."""
        if not self._low <= size < self._high:
            return False
        if self.time_format == AS_IS and size * _GAP > self._high:
            self._high = size * _GAP
        return True

    def explain_number(self, text: str) -> str:
        """Return why a number of another format is bad."""
        if self.time_format == DATES:
            return self._explain_date(text)
        look = int(np.searchsorted(_BOUNDS, abs(float(text)), side="right"))
        if look == len(_BOUNDS):
            return f"{text[:60]} is too large for a time in any unit"
        return self._explain_mixture(text, _BY_SIZE[look])

    def explain_text(self, time_format: str, text: str) -> str:
        """Return why an ISO 8601 time or a time of day is bad if another format is decided."""
        return self._explain_mixture(repr(text), time_format)

    def explain_fraction(self, text: str) -> str:
        """Return why a small number with a fraction is bad: its unit is unknown."""
        return (
            f"{text} has a fraction, so its unit is unknown; {self._remedy('s')} reads all as seconds, "
            f"{self._remedy(self._unit)} as {UNIT_NAMES[self._unit]} without fractions"
        )

    def _explain_mixture(self, text: str, time_format: str) -> str:
        assert self.time_format is not None, "the form is decided"
        unit = self.time_format or self._unit
        remedy = "write all in one form"
        if time_format in _BY_SIZE and unit in UNIT_NAMES:
            remedy = f"{self._remedy(unit)} reads all as {UNIT_NAMES[unit]}"
        return (
            f"{text} looks like {self._describe(time_format)}, but {self._evidence} "
            f"{self._describe(self.time_format)}; {remedy}"
        )

    def _explain_date(self, text: str) -> str:
        pattern = _date_pattern(text)
        if not pattern:
            return f"{text} is not a date of the form {self._pattern}, as most times seem to be"
        return (
            f"{text} looks like the date {datetime.strptime(text, pattern)} as a number; "
            f"{self._remedy(pattern)} reads dates, {self._remedy(self._unit)} reads all as "
            f"{UNIT_NAMES[self._unit]}"
        )

    def _describe(self, time_format: str) -> str:
        if time_format == AS_IS:
            return f"a count of {UNIT_NAMES[self._unit]}"
        if time_format in UNIT_NAMES:
            return f"{UNIT_NAMES[time_format]} since 1970"
        return "a time of day" if time_format == DAY_TIME else "ISO 8601"

    def _extend_range(self, sizes: Sizes) -> None:
        """Extend the range to larger numbers that follow smaller ones without a gap."""
        while True:
            high = _GAP * float(sizes[sizes < self._high].max(initial=0.0))
            if high <= self._high:
                return
            self._high = high


def recognize_text(text: str) -> str | None:
    """Return ISO or DAY_TIME if the text is such a time, else None."""
    try:
        parse_iso(text)
    except (ValueError, OverflowError):
        return None if parse_day_time(text) is None else DAY_TIME
    return ISO


def parse_day_time(text: str) -> time | None:
    """Return a text as a time of day without a zone; None if it is not one."""
    try:
        parsed = time.fromisoformat(text)
    except ValueError:
        return None
    return parsed if ":" in text and parsed.tzinfo is None else None


def parse_iso(text: str) -> tuple[datetime, int]:
    """Return a time in ISO 8601 or Twitter's format, and nanoseconds to add; raises `ValueError` for other texts."""
    # Month names are English in any locale, which `strptime` does not promise.
    parts = _TWITTER.fullmatch(text)
    if parts and parts[1] in _MONTHS:
        month = _MONTHS.index(parts[1]) + 1
        text = f"{parts[6]}-{month:02}-{parts[2]}T{parts[3]}{parts[4]}:{parts[5]}"
    return datetime.fromisoformat(text), finer_ns(text) if len(text) > _LENGTH_US else 0


def finer_ns(text: str) -> int:
    """Return the part of a time below a microsecond, the resolution of `datetime`, in nanoseconds."""
    finer = _FINER.search(text)
    return int(finer[1].ljust(3, "0")) if finer else 0


def is_number(text: str) -> bool:
    """Return whether a text is a number, whole or with a fraction."""
    is_short = len(text) <= _MAX_DIGITS
    return is_short and (text.isdecimal() or _NUMBER.fullmatch(text) is not None)


def _describe_evidence(rows: int, total: int, text: str, place: str) -> str:
    if total == 1:
        return f"{text} ({place}) looks like"
    looks = "look" if rows > 1 else "looks"
    return f"{rows:,} of the first {total:,} times, such as {text} ({place}), {looks} like"


def _may_be_dates(sizes: Sizes) -> bool:
    smallest, largest = float(sizes.min(initial=np.inf)), float(sizes.max(initial=0.0))
    return any(smallest < 10**digits and largest >= 10 ** (digits - 1) for digits in _DATE_PATTERNS)


def _date_pattern(text: str) -> str:
    """Return the pattern of a date that is written as a number; empty if the text is not a date."""
    for pattern in _DATE_PATTERNS.get(len(text), ()) if text.isascii() and text.isdigit() else ():
        try:
            if datetime.strptime(text, pattern).year in _YEARS:
                return pattern
        except ValueError:
            pass
    return ""
