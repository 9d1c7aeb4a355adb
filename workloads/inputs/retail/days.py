"""Days as parameters."""

from datetime import date

from streamlab.workloads.inputs.retail.schema import DAY_MS
from streamlab.workloads.model import ModelError, Parameter

FIRST_DAY = "2001-09-02"
"""When the year of query 15 begins; generated input begins there too."""

FIRST_DAY_PARAMETER = Parameter(
    default=FIRST_DAY, help="day at whose midnight (UTC) event time begins, YYYY-MM-DD"
)


def day_number(text: str) -> int:
    """Return the days since 1970 of a day `YYYY-MM-DD`.

    Raises:
        ModelError: it is none.
    """
    try:
        return (date.fromisoformat(text) - date(1970, 1, 1)).days
    except ValueError:
        raise ModelError(f"first_day is {text!r}; give a day as {FIRST_DAY}") from None


def midnight_ms(text: str) -> int:
    """Return when a day begins, in milliseconds since 1970.

    Raises:
        ModelError: it is no day.
    """
    return day_number(text) * DAY_MS
