"""Converts event times in the formats of real exports to whole numbers of the unit of event time.

| format | values |
|---|---|
| `s`, `ms`, `us`, `ns` | numbers since 1970, whole or with a fraction |
| `iso` | ISO 8601: a day, a day and a time with or without a zone, or a time of day, which counts |
|  | from midnight; also Twitter's format, `Thu Apr 09 01:31:50 +0000 2015` |
| `hhmmss` | a time of day as six digits, with or without a fraction; it counts from midnight |
| a pattern with `%` | a pattern of `strptime`, such as `%m/%d/%y %H:%M`; `%y` means 1969 to 2068 |
| none | `recognition` decides the format |

Arrow timestamps and dates need no format. Times without a zone are in the reader's zone.
When clocks are set back, an hour repeats. Its times mean the first of the two hours, and a report counts them.
When clocks are set forward, an hour is missing. Its times are bad. Fractions of the unit of event time are
rounded down.
"""

from streamlab.workloads.datasets.times.columns import ColumnTimes
from streamlab.workloads.datasets.times.reader import TimeReader, check_time_format
from streamlab.workloads.datasets.times.span import Span, span_of

__all__ = ["ColumnTimes", "Span", "TimeReader", "check_time_format", "span_of"]
