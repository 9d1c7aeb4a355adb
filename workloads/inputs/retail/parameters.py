"""Parses parameters that are days or lists of ids, such as `1,2,3` or `all`."""

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.inputs.retail.schema import DAY_MS, HOUR_MS
from streamlab.workloads.model import ModelError, Parameter

FIRST_DAY = "2001-09-02"
"""First day of query 15's year and of generated input."""

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


SESSION_GAP = Parameter(
    default=HOUR_MS,
    help="a session ends when its user is idle for more than this time, in ms of event time",
    minimum=0,
    maximum=2**40,
)
"""A query parameter of queries over sessions of clicks."""

ALL = "all"


@dataclass(frozen=True, slots=True)
class Ids:
    """A set of ids.

    Attributes:
        every: whether all ids are in the set; `among` is then ignored.
        among: the ids of the set; never empty, because compiled code has no empty tuples.
    """

    every: bool
    among: tuple[int, ...]

    def mask(self, column: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return, for each value of a column, whether it is in the set."""
        return np.ones(len(column), dtype=np.bool_) if self.every else np.isin(column, self.among)


def parse_ids(name: str, text: str) -> Ids:
    """Return the ids of a query parameter.

    Raises:
        ModelError: the text is neither `all` nor a comma-separated list of whole numbers.
    """
    if text.strip() == ALL:
        return Ids(True, (0,))
    try:
        return Ids(False, tuple(sorted({int(part) for part in text.split(",")})))
    except ValueError:
        raise ModelError(f"{name} is {text!r}; give ids such as 1,2,3, or {ALL}") from None
