"""Times in raw files, in their usual forms, to milliseconds since 1970 (UTC)."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from workloads.datasets.imports.kind import BadRowError

FORMS = ("auto", "iso", "s", "ms")
"""ISO 8601 or the form of Twitter, seconds, or milliseconds; auto tells them apart."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TWITTER = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d{2}) (\d{2}:\d{2}:\d{2}) ([+-]\d{2})(\d{2}) (\d{4})"
)
_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,9})?")
_SECONDS_BELOW = 10**11
"""Plain numbers below are seconds (until the year 5138), others milliseconds (from 1973)."""


def time_ms(text: str, form: str = "auto") -> int:
    """Return milliseconds since 1970 of a time in one of `FORMS`; fractions are cut down.

    Raises:
        BadRowError: it is not a time in that form.
    """
    text = text.strip()
    try:
        if form in ("s", "ms") or (form == "auto" and _NUMBER.fullmatch(text)):
            return _number_ms(text, form)
        return twitter_ms(text) if _TWITTER.fullmatch(text) else iso_ms(text)
    except ValueError as error:
        wanted = {"auto": "time", "iso": "ISO 8601 time"}.get(form, f"number of {form}")
        raise BadRowError(f"{text!r} is not a {wanted}") from error


def iso_ms(text: str) -> int:
    """Return milliseconds since 1970 of an ISO 8601 time; UTC where it names no zone.

    Raises:
        ValueError: it is none.
    """
    time = datetime.fromisoformat(text)
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND


def twitter_ms(text: str) -> int:
    """Return milliseconds since 1970 of a time like `Thu Apr 09 01:31:50 +0000 2015`.

    Months are English whatever the locale, which `strptime` does not promise.

    Raises:
        ValueError: it is none.
    """
    found = _TWITTER.fullmatch(text)
    if found is None or found[1] not in _MONTHS:
        raise ValueError(f"{text!r} is not like 'Thu Apr 09 01:31:50 +0000 2015'")
    month = _MONTHS.index(found[1]) + 1
    return iso_ms(f"{found[6]}-{month:02}-{found[2]}T{found[3]}{found[4]}:{found[5]}")


def _number_ms(text: str, form: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    number = Decimal(text)
    seconds = form == "s" or (form == "auto" and abs(number) < _SECONDS_BELOW)
    return int((number * 1000 if seconds else number) // 1)
