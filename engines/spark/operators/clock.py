"""Converts event times to Spark's timestamps.

Event times of these workloads are milliseconds, anywhere in int64. Spark stores microseconds since 1970, starts its
watermark at 1970 and drops earlier tuples as late. Times are therefore shifted so that the first event is at least
one window advance after 1970. The shift is a multiple of the advance, which preserves the windows.
"""

from dataclasses import dataclass

from streamlab.engines.spark.layout import time_span
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import ModelError, Query
from streamlab.workloads.model.operators.windows import check_spans

_LATEST_MS = (2**63 - 1) // 1000
"""The last millisecond of a timestamp in microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The shift from event times to timestamps.

    Attributes:
        origin: event time in ms that maps to the beginning of 1970.
        end: event time of the end of the input, up to which the watermark closes windows.
    """

    origin: int
    end: int

    def time(self, column: str) -> str:
        """Return the SQL of a column of event times as timestamps."""
        return f"timestamp_millis({self.since_origin(column)})"

    def since_origin(self, column: str) -> str:
        """Return the SQL of a column of event times as milliseconds since the origin, above 0."""
        return f"({column} - ({self.origin}L))"

    def event_time(self, timestamp: str) -> str:
        """Return the SQL of a timestamp as event time."""
        return f"(unix_millis({timestamp}) + ({self.origin}L))"


def clock(dataset: Dataset, advance: int) -> Clock:
    """Return the clock of an input for windows with an advance in ms."""
    span = time_span(dataset)
    if span is None:
        return Clock(origin=0, end=0)
    first, end = span
    return Clock(origin=(first // advance - 1) * advance, end=end)


def timestamp_overflow(dataset: Dataset, advance: int, size: int) -> str | None:
    """Return why an input does not fit Spark's timestamps, or None."""
    times = clock(dataset, advance)
    latest_ms = times.end - times.origin + 2 * size
    if latest_ms > _LATEST_MS or times.origin <= -(2**63):
        return (
            f"spark stores timestamps as 64-bit microseconds: windows of {size} ms on event times "
            f"from {times.origin} to {times.end} ms do not fit; use another engine"
        )
    return None


def out_of_range(dataset: Dataset, query: Query) -> str | None:
    """Return why event times are out of range for a query on any engine, or None."""
    spans = [(s.name, s.ts_min, s.ts_max) for s in dataset.streams if s.rows]
    try:
        check_spans(query, spans, dataset.until_ts)
    except ModelError as error:
        return str(error)
    return None
