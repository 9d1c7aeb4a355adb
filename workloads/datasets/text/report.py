"""Counts the good and bad rows of an import, and their lines."""

from dataclasses import dataclass, field

from streamlab.workloads.datasets.text.records import NO_QUOTES

_MOST_NAMED = 10


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
        of_lines: number of good rows of several lines.
        lines_in_rows: number of lines of good rows after their first.
        several: the first ten rows of several lines, in words.
        empty_lines: number of empty lines outside rows.
        passed_over: number of lines of headers, and of lines that the import does not need.
    """

    rows: int = 0
    bad: int = 0
    bad_lines: list[str] = field(default_factory=list)
    lines_in_bad: int = 0
    of_lines: int = 0
    lines_in_rows: int = 0
    several: list[str] = field(default_factory=list)
    empty_lines: int = 0
    passed_over: int = 0

    @property
    def lines(self) -> int:
        """The number of all lines."""
        rows = self.rows + self.lines_in_rows + self.bad + self.lines_in_bad
        return rows + self.empty_lines + self.passed_over

    def bad_row(self, words: str, further: int = 0) -> None:
        """Count a bad row with `further` lines after its first."""
        self.bad += 1
        self.lines_in_bad += further
        if len(self.bad_lines) < _MOST_NAMED:
            self.bad_lines.append(words)

    def row_of_lines(self, place: str, further: int) -> None:
        """Count the lines of a good row after its first; `rows` counts the row."""
        self.of_lines += 1
        self.lines_in_rows += further
        if len(self.several) < _MOST_NAMED:
            self.several.append(place)

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
            "rows_of_several_lines": self.of_lines,
            "lines_in_rows": self.lines_in_rows,
            "several_lines": self.several,
            "empty_lines": self.empty_lines,
            "lines_passed_over": self.passed_over,
        }
