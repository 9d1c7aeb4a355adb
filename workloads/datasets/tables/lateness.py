"""Decides which rows of a table come too late to be sorted in.

Rows arrive in reading order. A row is as late as its time is before the latest time of the rows before it. With a
bound D this is a watermark that trails the latest time by D: rows behind it are late, the others are sorted by time.
"""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.errors import DatasetError

DROP, ERROR = "drop", "error"
"""What happens to late rows: left out and counted, or the import fails."""

MOST_NAMED = 10
_NS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3_600 * 10**9,
    "d": 86_400 * 10**9,
}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ns|us|ms|s|min|h|d)\s*")


def parse_bound(text: str, unit: str, where: str) -> int:
    """Return a duration such as `5 s` in units of event time.

    Raises:
        DatasetError: it is no duration, or no whole number of units.
    """
    match = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise DatasetError(
            f"{where} is {text!r}; give a number and one of {', '.join(_NS)}, such as '5 s'"
        )
    units = Fraction(match[1]) * _NS[match[2]] / _NS[unit]
    if units.denominator != 1 or units >= 2**62:
        raise DatasetError(
            f"{where} is {text!r}, which is no whole number of {unit}, the unit of event time, below 2^62; "
            "give another duration, or a finer unit"
        )
    return int(units)


@dataclass(slots=True, kw_only=True)
class Lateness:
    """Measures how late rows are, and counts the late ones.

    Attributes:
        bound: the largest lateness that is not late, in units of event time; None: no row is late.
        latest: the latest time so far.
        largest: the largest lateness so far, also of late rows.
        rows: number of late rows.
        further_lines: number of their lines after the first.
        named: the first ten late rows, in words.
    """

    bound: int | None
    latest: int | None = None
    largest: int = 0
    rows: int = 0
    further_lines: int = 0
    named: list[str] = field(default_factory=list)

    def measure(self, ts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return how late each of the next rows is, by their times; not late ones have 0."""
        if not len(ts):
            return np.zeros(0, np.int64)
        latest = int(ts[0]) if self.latest is None else self.latest
        before = np.maximum.accumulate(np.concatenate(([latest], ts)))
        behind: npt.NDArray[np.int64] = np.maximum(before[:-1] - ts, 0)
        self.latest = int(before[-1])
        self.largest = max(self.largest, int(behind.max()))
        return behind

    def count(self, words: str, further: int) -> None:
        """Count a late row with `further` lines after its first."""
        self.rows += 1
        self.further_lines += further
        if len(self.named) < MOST_NAMED:
            self.named.append(words)

    def facts(self, bound: str | None) -> dict[str, Any]:
        """Return the record for the dataset; `bound` as declared."""
        facts: dict[str, Any] = {"largest_lateness": self.largest}
        if bound is not None:
            facts |= {
                "out_of_order": bound,
                "late_rows": self.rows,
                "lines_in_late_rows": self.further_lines,
                "late_lines": self.named,
            }
        return facts
