"""Counts the good and bad rows of an import, and their lines."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.text.records import NO_QUOTES

MOST_NAMED = 10
_SUMS = (
    *("rows", "bad", "lines_in_bad", "multi_line_rows", "lines_in_rows", "empty_lines"),
    *("skipped_lines", "descents"),
)

Ints = npt.NDArray[np.int64]


@dataclass(slots=True, kw_only=True)
class RowReport:
    """Counts of an import's rows, good and bad, and of the lines that they take.

    Each line counts as one of these: a row, a bad row, a line within a row or a bad row, an empty line, or
    a skipped line.

    Attributes:
        rows: number of good rows.
        bad: number of bad rows.
        bad_lines: the first ten bad rows, in words.
        lines_in_bad: number of lines of bad rows after their first.
        multi_line_rows: number of good rows of several lines.
        lines_in_rows: number of lines of good rows after their first.
        multi_line_places: the first ten rows of several lines, in words.
        empty_lines: number of empty lines outside rows.
        skipped_lines: number of lines of headers, and of lines that the import does not need.
        first_ts: time of the first row.
        first_place: the first row, in words.
        descents: number of rows with an earlier time than the row before.
        first_descent: the first of these rows, in words.
        last_ts: time of the last row.
        last_place: time and place of the last row, in words.
        times: how times were read (`TimeReader.report`).
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
        """The latest time so far, if it matters to later rows."""
        return None

    def bad_row(self, words: str, further: int = 0) -> None:
        """Count a bad row with `further` lines after its first."""
        self.bad += 1
        self.lines_in_bad += further
        if len(self.bad_lines) < MOST_NAMED:
            self.bad_lines.append(words)

    def add_rows(self, rows: Ints, ts: Ints, further: Ints, place: Callable[[int], str]) -> None:
        """Count good rows: their indices in a chunk, their times, and the lines of all its rows after their first."""
        if not len(rows):
            return
        for row in rows[further[rows] > 0].tolist():
            self.multi_line_rows += 1
            self.lines_in_rows += int(further[row])
            if len(self.multi_line_places) < MOST_NAMED:
                self.multi_line_places.append(place(row))
        if self.first_ts is None:
            self.first_ts, self.first_place = int(ts[0]), place(int(rows[0]))
        late = np.flatnonzero(
            np.diff(ts, prepend=ts[0] if self.last_ts is None else self.last_ts) < 0
        )
        if len(late) and not self.descents:
            at = int(late[0])
            before = f"{ts[at - 1]} at {place(int(rows[at - 1]))}" if at else self.last_place
            self.first_descent = f"{place(int(rows[at]))}: time {ts[at]} is before {before}"
        self.rows += len(rows)
        self.descents += len(late)
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
        self.bad_lines = [*self.bad_lines, *other.bad_lines][:MOST_NAMED]
        self.multi_line_places = [*self.multi_line_places, *other.multi_line_places][:MOST_NAMED]

    def descends_to(self, other: "RowReport") -> bool:
        """Return whether the next rows begin with an earlier time than the last row's."""
        return (
            self.last_ts is not None
            and other.first_ts is not None
            and other.first_ts < self.last_ts
        )

    def has_messages_after(self, merged: "RowReport") -> bool:
        """Return whether its messages would be in a report of the rows before, after merging both."""
        return bool(
            (self.bad and merged.bad < MOST_NAMED)
            or (self.multi_line_rows and merged.multi_line_rows < MOST_NAMED)
            or (not merged.descents and (self.descents or merged.descends_to(self)))
        )

    def excess(self) -> str:
        """Return the end of an error about bad rows: their lines, and how to skip them."""
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
