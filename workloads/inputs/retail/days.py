"""Parses parameters that are days."""

from datetime import date

from streamlab.workloads.inputs.retail.schema import DAY_MS
from streamlab.workloads.model import ModelError, Parameter

FIRST_DAY = "2001-09-02"
"""First day of the year of query 15, and of generated input."""

FIRST_DAY_PARAMETER = Parameter(
    default=FIRST_DAY, help="day on which event time begins, at midnight UTC, YYYY-MM-DD"
)


def day_number(text: str) -> int:
    """Return the days since 1970-01-01 of a day `YYYY-MM-DD`.

    Raises:
        ModelError: the text is not a day.
    """
    try:
        return (date.fromisoformat(text) - date(1970, 1, 1)).days
    except ValueError:
        raise ModelError(f"first_day is {text!r}; give a day such as {FIRST_DAY}") from None


def midnight_ms(text: str) -> int:
    """Return the beginning of a day `YYYY-MM-DD`, in milliseconds since 1970.

    Raises:
        ModelError: the text is not a day.
    """
    return day_number(text) * DAY_MS
