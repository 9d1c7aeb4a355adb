"""Counts the good and bad rows of an import, and their lines."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.text.records import NO_QUOTES

MAX_NAMED = 10
"""Maximum number of rows of each sort that a report describes."""
_SUMS = (
    *("rows", "bad", "lines_in_bad", "multi_line_rows", "lines_in_rows", "empty_lines"),
    *("skipped_lines", "descents"),
)
"""Attributes of `RowReport` that `merge` adds."""

Ints = npt.NDArray[np.int64]


@dataclass(slots=True, kw_only=True)
class RowReport:
    """Counts of an import's rows, good and bad, and of the lines that they take.

    Each line counts as one of these: a row, a bad row, a line within a row or a bad row, an empty line, or
    a skipped line.

    Attributes:
        rows: number of good rows.
        bad: number of bad rows.
        bad_lines: descriptions of the first `MAX_NAMED` bad rows.
        lines_in_bad: number of lines of bad rows after each row's first line.
        multi_line_rows: number of good rows of several lines.
        lines_in_rows: number of lines of good rows after each row's first line.
        multi_line_places: the places of the first `MAX_NAMED` rows of several lines.
        empty_lines: number of empty lines outside rows.
        skipped_lines: number of lines of headers, and of lines that the import does not need.
        first_ts: time of the first row; None without rows.
        first_place: place of the first row.
        descents: number of rows with an earlier time than the row before.
        first_descent: description of the first such row.
        last_ts: time of the last row; None without rows.
        last_place: time and place of the last row.
        times: the report on reading times (`TimeReader.report`).
    """

    rows: int = 0
    bad: int = 0
    bad_lines: list[str] = field(default_factory=list)
    lines_in_bad: int = 0
    multi_line_rows: int = 0
    lines_in_rows: int = 0
    multi_line_places: list[str] = field(default_factory=list)
    empty_lines: int = 0
    skipped_lines: int = 0
    first_ts: int | None = None
    first_place: str = ""
    descents: int = 0
    first_descent: str = ""
    last_ts: int | None = None
    last_place: str = ""
    times: dict[str, object] = field(default_factory=dict)

    @property
    def lines(self) -> int:
        """The number of all lines."""
        rows = self.rows + self.lines_in_rows + self.bad + self.lines_in_bad
        return rows + self.empty_lines + self.skipped_lines

    @property
    def rows_read(self) -> int:
        """The number of all rows so far."""
        return self.rows + self.bad

    @property
    def latest(self) -> int | None:
        """The latest time so far, if later rows depend on it; otherwise None."""
        return None

    def bad_row(self, description: str, further: int = 0) -> None:
        """Count a bad row with `further` lines after its first."""
        self.bad += 1
        self.lines_in_bad += further
        if len(self.bad_lines) < MAX_NAMED:
            self.bad_lines.append(description)

    def add_rows(self, rows: Ints, ts: Ints, further: Ints, place: Callable[[int], str]) -> None:
        """Count good rows of a chunk.

        Args:
            rows: their indices in the chunk.
            ts: their times.
            further: for each row of the chunk, the number of lines after its first.
            place: returns the place of a row of the chunk.
        """
        if not len(rows):
            return
        for row in rows[further[rows] > 0].tolist():
            self.multi_line_rows += 1
            self.lines_in_rows += int(further[row])
            if len(self.multi_line_places) < MAX_NAMED:
                self.multi_line_places.append(place(row))
        if self.first_ts is None:
            self.first_ts, self.first_place = int(ts[0]), place(int(rows[0]))
        previous_ts = ts[0] if self.last_ts is None else self.last_ts
        descents = np.flatnonzero(np.diff(ts, prepend=previous_ts) < 0)
        if len(descents) and not self.descents:
            row = int(descents[0])
            before = f"{ts[row - 1]} at {place(int(rows[row - 1]))}" if row else self.last_place
            self.first_descent = f"{place(int(rows[row]))}: time {ts[row]} is before {before}"
        self.rows += len(rows)
        self.descents += len(descents)
        self.last_ts, self.last_place = int(ts[-1]), f"{ts[-1]} at {place(int(rows[-1]))}"

    def merge(self, other: "RowReport") -> None:
        """Add the counts of the next rows."""
        if other.first_ts is not None:
            if self.descends_to(other):
                self.descents += 1
                before = f"time {other.first_ts} is before {self.last_place}"
                self.first_descent = self.first_descent or f"{other.first_place}: {before}"
            self.first_descent = self.first_descent or other.first_descent
            self.last_ts, self.last_place = other.last_ts, other.last_place
            if self.first_ts is None:
                self.first_ts, self.first_place = other.first_ts, other.first_place
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.bad_lines = [*self.bad_lines, *other.bad_lines][:MAX_NAMED]
        self.multi_line_places = [*self.multi_line_places, *other.multi_line_places][:MAX_NAMED]

    def descends_to(self, other: "RowReport") -> bool:
        """Return whether `other`, the report on the next rows, begins with an earlier time than the last row's."""
        return (
            self.last_ts is not None
            and other.first_ts is not None
            and other.first_ts < self.last_ts
        )

    def has_messages_after(self, merged: "RowReport") -> bool:
        """Return whether merging this report into `merged`, the report on earlier rows, would add messages."""
        return bool(
            (self.bad and merged.bad < MAX_NAMED)
            or (self.multi_line_rows and merged.multi_line_rows < MAX_NAMED)
            or (not merged.descents and (self.descents or merged.descends_to(self)))
        )

    def excess(self) -> str:
        """Return the end of an error about too many bad rows: their lines, and the options that skip them."""
        lines = f"lines within bad rows: {self.lines_in_bad:,}; {NO_QUOTES}; "
        return (
            f"{lines if self.lines_in_bad else ''}mend the file, or leave bad rows out with "
            f"--max-bad {self.bad}"
        )

    def origin(self) -> dict[str, object]:
        """Return the counts for the record of a dataset."""
        return {
            "rows": self.rows,
            "bad_rows": self.bad,
            "bad_lines": self.bad_lines,
            "lines_in_bad_rows": self.lines_in_bad,
            "rows_of_several_lines": self.multi_line_rows,
            "lines_in_rows": self.lines_in_rows,
            "several_lines": self.multi_line_places,
            "empty_lines": self.empty_lines,
            "lines_passed_over": self.skipped_lines,
            "sorted_here": bool(self.descents),
            "rows_out_of_order": self.descents,
        }
