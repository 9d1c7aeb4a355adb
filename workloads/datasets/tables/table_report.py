"""The report on reading a table: counts of good, bad, late, skipped and filled rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streamlab.workloads.datasets.tables.lateness import Lateness
from streamlab.workloads.datasets.tables.required_columns import RequiredColumns
from streamlab.workloads.datasets.text.report import MAX_NAMED, RowReport


@dataclass(slots=True, kw_only=True)
class TableReport(RowReport):
    """The report on reading a table.

    Attributes:
        row_counts: number of good rows of each kind.
        empty: by kind and field: number of rows in which the field is empty.
        first_empty: by kind and field: a description of the first such row.
        no_numbers: fields of whole numbers with a value that is not a whole number.
        lateness: the lateness of rows. Rows left out as late, and their lines, are counted only here.
        skipped: by field: number of rows that `skip_missing` leaves out because this is their first empty field.
        lines_in_skipped: number of lines of skipped rows after each row's first line.
        filled: by field: number of values from `fill`.
    """

    row_counts: list[int] = field(default_factory=list)
    empty: dict[tuple[int, str], int] = field(default_factory=dict)
    first_empty: dict[tuple[int, str], str] = field(default_factory=dict)
    no_numbers: list[str] = field(default_factory=list)
    lateness: Lateness
    skipped: dict[str, int] = field(default_factory=dict)
    lines_in_skipped: int = 0
    filled: dict[str, int] = field(default_factory=dict)

    @property
    def rows_read(self) -> int:
        """The number of all rows so far."""
        late = 0 if self.lateness.keeps_late_rows else self.lateness.rows
        return self.rows + self.bad + late + sum(self.skipped.values())

    @property
    def latest(self) -> int | None:
        """The latest time so far, from which the lateness of later rows is measured."""
        return self.lateness.latest

    def has_messages_after(self, merged: RowReport) -> bool:
        """Return whether these rows would add messages to `merged`, the report on the rows before."""
        assert isinstance(merged, TableReport), "both are of one table"
        return bool(
            RowReport.has_messages_after(self, merged)
            or (self.lateness.rows and merged.lateness.rows < MAX_NAMED)
            or self.first_empty.keys() - merged.first_empty.keys()
        )

    def merge(self, other: RowReport) -> None:
        """Add the counts of the next rows."""
        assert isinstance(other, TableReport), "both are of one table"
        RowReport.merge(self, other)
        self.row_counts = [a + b for a, b in zip(self.row_counts, other.row_counts, strict=True)]
        for total, added in (
            (self.empty, other.empty),
            (self.skipped, other.skipped),
            (self.filled, other.filled),
        ):
            _add_counts(total, added)
        self.first_empty = other.first_empty | self.first_empty
        self.no_numbers = list(dict.fromkeys([*self.no_numbers, *other.no_numbers]))
        self.lateness.merge(other.lateness)
        self.lines_in_skipped += other.lines_in_skipped

    def describe_all_bad(self) -> str:
        """Return the error for a table whose first rows are all bad."""
        fields = self.no_numbers
        remedy = f"; if {fields[0]} holds texts, give --ids {fields[0]} (ids=...)" if fields else ""
        return (
            f"{self.bad_lines[0]}; none of the first {self.bad:,} rows can be read, so the columns "
            f"are not as declared{remedy}"
        )

    def origin(self) -> dict[str, object]:
        """Return the counts for the record of a dataset."""
        counts: dict[str, object] = {
            "skipped_rows": sum(self.skipped.values()),
            "lines_in_skipped_rows": self.lines_in_skipped,
            "skipped_by_field": self.skipped,
            "filled_by_field": self.filled,
        }
        return {**RowReport.origin(self), **counts}

    def present_fields(self, kind: int, required: RequiredColumns) -> tuple[str, ...]:
        """Return the fields that have a value in some row of a kind; all its fields if the kind has no rows."""
        return tuple(
            name
            for name in (*required.fields, *required.lists)
            if name in required.kind_fields[kind]
            and not (0 < self.row_counts[kind] == self.empty.get((kind, name), 0))
        )

    def partial_fields(self, required: RequiredColumns) -> dict[tuple[int, str], int]:
        """Return the number of rows without a field, by kind and field, for fields that only some rows have."""
        return {
            (kind, name): count
            for (kind, name), count in self.empty.items()
            if name in required.kind_fields[kind] and 0 < count < self.row_counts[kind]
        }


def _add_counts(total: dict[Any, int], added: Mapping[Any, int]) -> None:
    """Add counts to `total`, in place."""
    for name, count in added.items():
        total[name] = total.get(name, 0) + count
