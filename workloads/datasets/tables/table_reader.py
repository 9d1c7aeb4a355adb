"""Converts the rows of a table to columns, in reading order. A later step numbers the texts."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets import pa, pc
from streamlab.workloads.datasets.arrow import Column
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.sorted_runs import take_rows
from streamlab.workloads.datasets.tables.cells import (
    decode_column,
    is_text,
    mask_of,
    parse_numbers,
    parse_scaled_numbers,
    shorten,
    use_decimal_point,
)
from streamlab.workloads.datasets.tables.derived_texts import DerivedTexts
from streamlab.workloads.datasets.tables.lateness import Lateness
from streamlab.workloads.datasets.tables.required_columns import (
    KEY,
    KIND,
    TS,
    ChosenColumns,
    RequiredColumns,
)
from streamlab.workloads.datasets.tables.source import Part
from streamlab.workloads.datasets.tables.table import (
    FILE,
    LATE,
    NO_COLUMN,
    START,
    Table,
    flagged_field,
)
from streamlab.workloads.datasets.text.csv_text import row_words
from streamlab.workloads.datasets.text.records import Chunk
from streamlab.workloads.datasets.text.report import MAX_NAMED, RowReport
from streamlab.workloads.datasets.text.words import tokenize
from streamlab.workloads.datasets.times import ColumnTimes
from streamlab.workloads.model import ListColumn

KEYS = "keys"
"""The name of the keys' dictionary."""


@dataclass(slots=True, kw_only=True)
class Reading(RowReport):
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
        assert isinstance(merged, Reading), "both are of one table"
        return bool(
            RowReport.has_messages_after(self, merged)
            or (self.lateness.rows and merged.lateness.rows < MAX_NAMED)
            or self.first_empty.keys() - merged.first_empty.keys()
        )

    def merge(self, other: RowReport) -> None:
        """Add the counts of the next rows."""
        assert isinstance(other, Reading), "both are of one table"
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
        """Return the fields that have a value in some row of a kind."""
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


class BlockReader:
    """Converts one chunk of rows to columns of numbers and texts."""

    def __init__(
        self,
        table: Table,
        required: RequiredColumns,
        chosen: ChosenColumns,
        chunk: Chunk,
        part: Part,
        reading: Reading,
        times: ColumnTimes,
        derived: dict[str, DerivedTexts],
        rows_before: int,
    ) -> None:
        self._table, self._required, self._chosen, self._chunk = table, required, chosen, chunk
        self._place, self._file, self._reading, self._times = part.place, part.file, reading, times
        self._derived_texts, self._rows_before = derived, rows_before
        self._bad: dict[int, str] = {}
        self._skipped: dict[int, str] = {}
        # Masks of empty cells by field. `_empty` leaves out the cells that `fill` gives a value.
        self._empty: dict[str, npt.NDArray[np.bool_]] = {}
        self._lacking: dict[str, npt.NDArray[np.bool_]] = {}
        in_part = {role: chunk.batch.column(number) for number, role in enumerate(chosen.index)}
        self._cells = {
            role: decode_column(in_part[role])
            if role in in_part
            else self._built_in_column(name, part)
            for role, name in chosen.names.items()
        }

    def columns(self) -> "dict[str, Column | pa.Array]":
        """Return the good rows; record bad, skipped and late rows in the report."""
        rows = self._chunk.batch.num_rows
        ts = np.zeros(rows, np.int64)
        if self._chosen.names[TS] != START:
            ts, bad = self._times.read(self._time_cells(), self._where(TS), self._row_of_file)
            self._note(TS, bad)
        read: dict[str, npt.NDArray[Any] | ListColumn | pa.Array] = {"ts": ts}
        read["kind"] = kind = self._kinds(rows)
        if KEY in self._cells:
            read["key"] = self._texts(KEY)
        flags = {}
        for name, dtype in self._required.fields.items():
            base = None if f".{name}" in self._cells else flagged_field(name, self._required.fields)
            if base is not None and self._table.columns.get(name) != NO_COLUMN:
                flags[name] = base
            else:
                read[f".{name}"] = self._field(name, dtype, rows)
        for name, base in flags.items():
            read[f".{name}"] = self._lacking.get(base, np.zeros(rows, np.bool_))
            if base not in self._table.skip_missing:
                self._empty.pop(base, None)
        for name, dtype in self._required.lists.items():
            read[f".{name}"] = self._list(name, dtype, rows)
        if self._table.key_fields:
            read["key"] = _row_texts([read[f".{name}"] for name in self._table.key_fields])
        self._check_empty(kind)
        # Records that are not rows come last: they do not show whether columns are declared wrongly.
        further = self._chunk.further
        for row in sorted(self._bad):
            self._reading.bad_row(f"{self._row(row)}{self._bad[row]}", int(further[row]))
        for record in self._chunk.bad:
            number = row_words(record.row, record.line, record.further)
            description = f"{self._place}: row {number}: {record.words()}"
            self._reading.bad_row(description, record.further)
        for row in self._skipped.keys() - self._bad.keys():
            name = self._skipped[row]
            self._reading.skipped[name] = self._reading.skipped.get(name, 0) + 1
            self._reading.lines_in_skipped += int(further[row])
        good = np.delete(np.arange(rows), [*{*self._bad, *self._skipped}])
        late_by = self._reading.lateness.measure(ts[good])
        for role, column in self._chosen.names.items():
            if column == LATE:  # a field, as `Table` checks
                dtype = self._required.fields[role.removeprefix(".")]
                if dtype != np.int64:
                    raise DatasetError(f"{self._where(role)} needs a field of int64, not {dtype}")
                read[role] = lateness = np.zeros(rows, np.int64)
                lateness[good] = late_by
        good = self._remove_late(good, ts, late_by)
        self._reading.add_rows(good, ts[good], further, self._row)
        self._count(kind, good)
        rows_good = pa.array(good)
        return {
            name: column.take(rows_good)
            if isinstance(column, pa.Array)
            else take_rows(column, good)
            for name, column in read.items()
        }

    def _remove_late(
        self,
        good: npt.NDArray[np.int64],
        ts: npt.NDArray[np.int64],
        late_by: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int64]:
        """Record the late rows in the report; return the good rows that stay."""
        lateness = self._reading.lateness
        if lateness.bound is None:
            return good
        is_late = late_by > lateness.bound
        for index in np.flatnonzero(is_late).tolist():
            row = int(good[index])
            description = (
                f"{self._row(row)}: time {ts[row]} is {late_by[index]} before the latest time above"
            )
            further = 0 if lateness.keeps_late_rows else int(self._chunk.further[row])
            lateness.count(description, further)
        return good if lateness.keeps_late_rows else good[~is_late]

    def _time_cells(self) -> "pa.Array":
        """Return the cells of times; several columns are joined to texts with blanks between."""
        cells = [self._cells[role] for role in self._chosen.names if role.partition(".")[0] == TS]
        if len(cells) == 1:
            return cells[0]
        texts = [
            pc.utf8_trim_whitespace(decode_column(column).cast(pa.string())) for column in cells
        ]
        filled = [pc.if_else(pc.equal(text, ""), None, text) for text in texts]
        return pc.binary_join_element_wise(*filled, " ")

    def _built_in_column(self, name: str, part: Part) -> "pa.Array":
        """Return one of `BUILT_IN_COLUMNS`. Later steps set the times of `START` and the lateness."""
        rows = self._chunk.batch.num_rows
        if name == START:
            return pa.nulls(rows)
        if name == LATE:
            return pa.array(np.zeros(rows, np.int64))
        if name == FILE:
            return pa.repeat(part.file, rows)
        first = self._rows_before + self._reading.rows_read + 1
        return pa.array(np.arange(first, first + rows))

    def _row(self, row: int) -> str:
        return f"{self._place}: row {self._chunk.number(row)}"

    def _where(self, role: str) -> str:
        return f"{self._place}: column {self._chosen.names[role]}"

    def _row_of_file(self, row: int) -> str:
        return f"{self._file}: row {self._chunk.number(row)}"

    def _note(self, role: str, bad: Mapping[int, str]) -> None:
        """Record rows as bad, by row, with the first reason for each."""
        for row, reason in bad.items():
            self._bad.setdefault(row, f", column {self._chosen.names[role]}: {reason}")

    def _kinds(self, rows: int) -> npt.NDArray[np.int8]:
        if self._chosen.kind is not None:
            return np.full(rows, self._chosen.kind, np.int8)
        names = self._required.kinds
        texts = self._texts(KIND)
        codes = pc.index_in(texts, pa.array(names, texts.type)).fill_null(-1)
        kinds = np.asarray(codes.to_numpy(zero_copy_only=False)).astype(np.int8)
        for row in np.flatnonzero(kinds < 0):
            value = shorten(texts[int(row)].as_py())
            self._note(KIND, {int(row): f"{value} is not one of the kinds {', '.join(names)}"})
        return np.maximum(kinds, 0)

    def _texts(self, role: str) -> "pa.Array":
        """Return a column as texts without surrounding blanks; fill, skip or record empty texts."""
        cells = self._cells[role]
        if pa.types.is_floating(cells.type):  # pandas stores whole numbers with gaps as floats
            with suppress(pa.ArrowInvalid):
                cells = pc.if_else(pc.is_nan(cells), None, cells).cast(pa.int64())
        if not (is_text(cells.type) or pa.types.is_integer(cells.type)):
            raise DatasetError(
                f"{self._where(role)} is of type {cells.type}; give a column of texts or of whole "
                "numbers"
            )
        texts = pc.utf8_trim_whitespace(cells.cast(pa.string())).fill_null("")
        is_empty = mask_of(pc.equal(texts, ""))
        name = role.removeprefix(".")
        self._lacking[name] = is_empty
        if name in self._table.fill:
            texts = pc.if_else(pa.array(is_empty), self._table.fill[name], texts)
            self._count_filled(name, is_empty)
        elif role not in (KEY, KIND):
            self._empty[name] = is_empty
        elif role == KEY and KEY in self._table.skip_missing:
            self._skip(KEY, is_empty)
        else:
            self._note(role, {int(row): "is empty" for row in np.flatnonzero(is_empty)})
        return texts

    def _count_filled(self, name: str, empty: npt.NDArray[np.bool_]) -> None:
        filled, count = self._reading.filled, int(np.count_nonzero(empty))
        if count:
            filled[name] = filled.get(name, 0) + count

    def _skip(self, name: str, empty: npt.NDArray[np.bool_]) -> None:
        for row in np.flatnonzero(empty).tolist():
            self._skipped.setdefault(row, name)

    def _field(self, name: str, dtype: np.dtype[Any], rows: int) -> "npt.NDArray[Any] | pa.Array":
        role = f".{name}"
        if role not in self._cells:
            self._empty[name] = self._absent(name, rows)
            return np.zeros(rows, dtype)
        if name in self._table.derive:
            return self._derived_column(name, dtype)
        if name in self._table.ids:
            return self._texts(role)
        column, points = use_decimal_point(self._cells[role], self._table.decimal)
        self._note(role, points)
        factor = self._table.scale.get(name)
        if factor is None:
            cells = parse_numbers(column, dtype, self._where(role))
        else:
            cells = parse_scaled_numbers(column, factor, dtype, self._where(role))
        self._lacking[name] = cells.empty
        values = cells.values
        if name in self._table.fill:
            values = np.where(cells.empty, dtype.type(self._table.fill[name]), values)
            self._count_filled(name, cells.empty)
        else:
            self._empty[name] = cells.empty
        self._note(role, cells.bad)
        if cells.bad and dtype.kind in "iu" and name not in self._reading.no_numbers:
            self._reading.no_numbers.append(name)
        return values

    def _derived_column(self, name: str, dtype: np.dtype[Any]) -> "npt.NDArray[Any] | pa.Array":
        """Return the results of a function of a column's texts, called once for each distinct text."""
        role, (_, function) = f".{name}", self._table.derive[name]
        texts = self._texts(role)
        coded = texts.dictionary_encode()
        results = self._derived_texts.setdefault(
            name, DerivedTexts(function, dtype, name in self._table.ids)
        )
        values, failures = results.derive(coded.dictionary.to_pylist())
        codes = coded.indices.to_numpy()
        missing = self._lacking[name]
        for code, reason in failures.items():
            rows = np.flatnonzero((codes == code) & ~missing)
            self._note(role, {int(row): f"{name} {reason}" for row in rows})
        if name in self._table.ids:
            return pa.array(values, pa.string()).take(pa.array(codes))
        return np.array(values, dtype)[codes] if values else np.zeros(len(texts), dtype)

    def _absent(self, name: str, rows: int) -> npt.NDArray[np.bool_]:
        """Return the mask of empty rows of a field without a column: no row if its column is `NO_COLUMN`."""
        return np.full(rows, self._table.columns.get(name) != NO_COLUMN)

    def _list(self, name: str, dtype: np.dtype[Any], rows: int) -> "ListColumn | pa.Array":
        """Return a column of lists of numbers or texts."""
        role = f".{name}"
        cells = self._cells.get(role)
        if cells is None or pa.types.is_null(cells.type):
            self._empty[name] = (
                self._absent(name, rows) if cells is None else np.ones(rows, np.bool_)
            )
            return ListColumn(np.zeros(rows + 1, np.int64), np.empty(0, dtype))
        self._empty[name] = mask_of(cells.is_null())
        kind = cells.type
        if is_text(kind):
            words = [tokenize(text or "").words for text in cells.to_pylist()]
            return pa.array(words, pa.list_(pa.string()))
        if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
            raise DatasetError(
                f"{self._where(role)} is of type {kind}; give lists, or texts for their words"
            )
        lengths = pc.list_value_length(cells).fill_null(0).to_numpy(zero_copy_only=False)
        offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
        flat = cells.flatten()
        if is_text(kind.value_type):
            self._note_elements(role, offsets, mask_of(flat.is_null()), {})
            return cells.cast(pa.list_(pa.string()))
        elements = parse_numbers(flat, dtype, self._where(role))
        self._note_elements(role, offsets, elements.empty, elements.bad)
        return ListColumn(offsets, elements.values)

    def _note_elements(
        self,
        role: str,
        offsets: npt.NDArray[np.int64],
        empty: npt.NDArray[np.bool_],
        bad: Mapping[int, str],
    ) -> None:
        """Record rows with an empty or bad element as bad."""
        reasons = {**{int(index): "is empty" for index in np.flatnonzero(empty)}, **bad}
        for element, reason in reasons.items():
            row = int(np.searchsorted(offsets, element, side="right")) - 1
            self._note(role, {row: f"element {element - offsets[row] + 1}: {reason}"})

    def _check_empty(self, kind: npt.NDArray[np.int8]) -> None:
        """Skip rows without a field of their kind, or record them as bad."""
        if not self._required.is_exact and self._chosen.kind is None:
            return
        for name, empty in self._empty.items():
            if not empty.any() or f".{name}" not in self._cells:
                continue
            is_required = np.array([name in names for names in self._required.kind_fields])
            if name in self._table.skip_missing:
                self._skip(name, empty & is_required[kind])
                continue
            for row in np.flatnonzero(empty & is_required[kind]):
                self._note(f".{name}", {int(row): "is empty"})

    def _count(self, kind: npt.NDArray[np.int8], good: npt.NDArray[np.int64]) -> None:
        """Count the good rows of each kind, and their empty fields."""
        reading = self._reading
        by_kind = [good[kind[good] == index] for index in range(len(reading.row_counts))]
        for index, rows in enumerate(by_kind):
            reading.row_counts[index] += len(rows)
        for name, empty in self._empty.items():
            for index, rows in enumerate(by_kind):
                without = rows[empty[rows]]
                if not len(without):
                    continue
                reading.empty[index, name] = reading.empty.get((index, name), 0) + len(without)
                column = self._chosen.names.get(f".{name}", name)
                description = f"{self._row(int(without[0]))}, column {column}"
                reading.first_empty.setdefault((index, name), description)


def _add_counts(total: dict[Any, int], added: Mapping[Any, int]) -> None:
    for name, count in added.items():
        total[name] = total.get(name, 0) + count


def _row_texts(columns: "Sequence[npt.NDArray[Any] | ListColumn | pa.Array]") -> "pa.Array":
    """Return a text for the values of each row; different values have different texts."""
    texts = [pa.array(column).cast(pa.string()) for column in columns]
    if len(texts) == 1:
        return texts[0]
    lengths = [pc.utf8_length(text).cast(pa.string()) for text in texts]
    parts = [part for pair in zip(lengths, texts, strict=True) for part in pair]
    return pc.binary_join_element_wise(*parts, ":")
