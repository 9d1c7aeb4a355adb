"""Decides which rows of a table come too late to be sorted in.

Rows arrive in reading order. A row's lateness is how far its time is before the latest time read so far.
A bound D acts as a watermark that trails the latest time by D. Rows before the watermark are late. All other rows
are sorted by time.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

DROP, KEEP, ERROR = "drop", "keep", "error"
"""Treatments of late rows: leave them out and count them, leave them to the program's windows, fail the import."""

MAX_NAMED = 10
"""Maximum number of late rows that a report describes."""


@dataclass(slots=True, kw_only=True)
class Lateness:
    """Measures the lateness of rows, and counts late rows. Times are in units of event time.

    Attributes:
        bound: the largest lateness of a row that is not late; None if no row is late.
        keeps_late_rows: whether late rows stay in the dataset.
        latest: the latest time so far.
        earliest: the earliest time so far.
        largest: the largest lateness so far, including that of late rows.
        rows: number of late rows.
        further_lines: number of lines of late rows after each row's first line.
        examples: descriptions of the first `MAX_NAMED` late rows.
    """

    bound: int | None
    keeps_late_rows: bool = False
    latest: int | None = None
    earliest: int | None = None
    largest: int = 0
    rows: int = 0
    further_lines: int = 0
    examples: list[str] = field(default_factory=list)

    def measure(self, ts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Measure the next rows, given their times. Return the lateness of each; 0 at or after the latest time."""
        if not len(ts):
            return np.zeros(0, np.int64)
        latest = int(ts[0]) if self.latest is None else self.latest
        before = np.maximum.accumulate(np.concatenate(([latest], ts)))
        late_by: npt.NDArray[np.int64] = np.maximum(before[:-1] - ts, 0)
        self.latest, first = int(before[-1]), int(ts.min())
        self.earliest = first if self.earliest is None else min(first, self.earliest)
        self.largest = max(self.largest, int(late_by.max()))
        return late_by

    def count(self, description: str, further: int) -> None:
        """Count a late row with `further` lines after its first."""
        self.rows += 1
        self.further_lines += further
        if len(self.examples) < MAX_NAMED:
            self.examples.append(description)

    def merge(self, other: "Lateness") -> None:
        """Add the lateness of the next rows, measured with or without knowing the latest time of the rows before."""
        if other.earliest is not None and other.latest is not None:
            before = other.earliest if self.latest is None else self.latest
            self.largest = max(self.largest, other.largest, before - other.earliest)
            self.latest = max(before, other.latest)
            earliest = other.earliest if self.earliest is None else self.earliest
            self.earliest = min(earliest, other.earliest)
        self.rows += other.rows
        self.further_lines += other.further_lines
        self.examples = [*self.examples, *other.examples][:MAX_NAMED]

    def facts(self, bound: str | None) -> dict[str, object]:
        """Return the facts for the dataset's record; `bound` is the text of `out_of_order`."""
        facts: dict[str, object] = {"largest_lateness": self.largest}
        if bound is not None:
            facts |= {
                "out_of_order": bound,
                "late_rows": self.rows,
                **({"late": KEEP} if self.keeps_late_rows else {}),
                "lines_in_late_rows": self.further_lines,
                "late_lines": self.examples,
            }
        return facts
