"""Computes the span of a dataset's event time, and shows it as numbers and dates."""

from dataclasses import dataclass

import numpy as np

from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.times.duration import PER_SECOND

_YEAR_S = 31_556_952
"""Mean length of a year of the Gregorian calendar: 365.2425 days."""
_LONG_YEARS = 100
"""A longer span is probably a mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The first and the last event time.

    Attributes:
        first, last: event times, in `unit` since 1970.
        unit: the unit of event time.
    """

    first: int
    last: int
    unit: str

    @property
    def years(self) -> float:
        """The length in years."""
        return (self.last - self.first) / PER_SECOND[self.unit] / _YEAR_S

    def __str__(self) -> str:
        """Return the span in numbers and in dates."""
        return (
            f"event time from {self.first} to {self.last} {self.unit}, "
            f"{self._date(self.first)} to {self._date(self.last)} UTC"
        )

    def warning(self) -> str | None:
        """Return a warning if the span is implausibly long, else None."""
        if self.years <= _LONG_YEARS:
            return None
        return (
            f"event time spans {self.years:,.0f} years; some times may be wrong or in another unit"
        )

    def _date(self, event_time: int) -> str:
        # NumPy supports years beyond 9999, datetime does not.
        date = np.datetime64(event_time // PER_SECOND[self.unit], "s")
        return str(date).replace("T", " ")


def span_of(dataset: Dataset) -> Span | None:
    """Return the span of a dataset; None if it has no rows, or its event time is not real time."""
    unit = dataset.origin.get("unit")
    present = [stream for stream in dataset.streams if stream.rows]
    if not present or unit not in PER_SECOND:
        return None
    return Span(
        first=min(stream.ts_min for stream in present),
        last=max(stream.ts_max for stream in present),
        unit=str(unit),
    )
