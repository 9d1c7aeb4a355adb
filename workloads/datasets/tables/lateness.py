"""Decides which rows of a table come too late to be sorted in.

Rows arrive in reading order. A row is as late as its time is before the latest time of the rows before it. With a
bound D this is a watermark that trails the latest time by D: rows behind it are late, the others are sorted by time.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

DROP, KEEP, ERROR = "drop", "keep", "error"
"""Treatments of late rows: leave out and count, leave to the program's windows, fail the import."""

MOST_NAMED = 10


@dataclass(slots=True, kw_only=True)
class Lateness:
    """Measures how late rows are, and counts the late ones.

    Attributes:
        bound: the largest lateness that is not late, in units of event time; None: no row is late.
        keeps: whether late rows stay in the dataset.
        latest: the latest time so far.
        earliest: the earliest time so far.
        largest: the largest lateness so far, also of late rows.
        rows: number of late rows.
        further_lines: number of their lines after the first.
        examples: the first ten late rows, in words.
    """

    bound: int | None
    keeps: bool = False
    latest: int | None = None
    earliest: int | None = None
    largest: int = 0
    rows: int = 0
    further_lines: int = 0
    examples: list[str] = field(default_factory=list)

    def measure(self, ts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return how late each of the next rows is, by their times; not late ones have 0."""
        if not len(ts):
            return np.zeros(0, np.int64)
        latest = int(ts[0]) if self.latest is None else self.latest
        before = np.maximum.accumulate(np.concatenate(([latest], ts)))
        behind: npt.NDArray[np.int64] = np.maximum(before[:-1] - ts, 0)
        self.latest, first = int(before[-1]), int(ts.min())
        self.earliest = first if self.earliest is None else min(first, self.earliest)
        self.largest = max(self.largest, int(behind.max()))
        return behind

    def count(self, words: str, further: int) -> None:
        """Count a late row with `further` lines after its first."""
        self.rows += 1
        self.further_lines += further
        if len(self.examples) < MOST_NAMED:
            self.examples.append(words)

    def merge(self, other: "Lateness") -> None:
        """Add the lateness of the next rows, which were measured without those before or with them."""
        if other.earliest is not None and other.latest is not None:
            before = other.earliest if self.latest is None else self.latest
            self.largest = max(self.largest, other.largest, before - other.earliest)
            self.latest = max(before, other.latest)
            earliest = other.earliest if self.earliest is None else self.earliest
            self.earliest = min(earliest, other.earliest)
        self.rows += other.rows
        self.further_lines += other.further_lines
        self.examples = [*self.examples, *other.examples][:MOST_NAMED]

    def facts(self, bound: str | None) -> dict[str, object]:
        """Return the record for the dataset; `bound` as declared."""
        facts: dict[str, object] = {"largest_lateness": self.largest}
        if bound is not None:
            facts |= {
                "out_of_order": bound,
                "late_rows": self.rows,
                **({"late": KEEP} if self.keeps else {}),
                "lines_in_late_rows": self.further_lines,
                "late_lines": self.examples,
            }
        return facts
