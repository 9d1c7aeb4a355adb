"""Converts the rows of a table to columns, in reading order. A later step numbers the texts."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
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
from streamlab.workloads.datasets.tables.table_report import TableReport
from streamlab.workloads.datasets.text.csv_text import row_words
from streamlab.workloads.datasets.text.records import Chunk
from streamlab.workloads.datasets.text.words import tokenize
from streamlab.workloads.datasets.times import ColumnTimes
from streamlab.workloads.model import ListColumn

KEYS = "keys"
"""The name of the keys' dictionary."""


class ChunkReader:
    """Converts one chunk of rows to columns of numbers and texts.

    A role names the purpose of a column (`required_columns`): "ts", "kind", "key", or ".NAME" for field NAME. Each
    method that converts a column also notes rows that are empty, bad or to be skipped. `columns` leaves them out.

    A reader updates `report`, `times`, and `derived` (the results of derive functions, by field).
    """

    def __init__(
        self,
        table: Table,
        required: RequiredColumns,
        chosen: ChosenColumns,
        chunk: Chunk,
        part: Part,
        report: TableReport,
        times: ColumnTimes,
        derived: dict[str, DerivedTexts],
        rows_before: int,
    ) -> None:
        self._table, self._required, self._chosen, self._chunk = table, required, chosen, chunk
        self._place, self._file, self._report, self._times = part.place, part.file, report, times
        self._derived_texts, self._rows_before = derived, rows_before
        self._bad: dict[int, str] = {}
        self._skipped: dict[int, str] = {}
        # Masks of empty cells by field: cells that stay empty after `fill`, and all empty cells.
        self._unfilled_cells: dict[str, npt.NDArray[np.bool_]] = {}
        self._empty_cells: dict[str, npt.NDArray[np.bool_]] = {}
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
            read[f".{name}"] = self._empty_cells.get(base, np.zeros(rows, np.bool_))
            if base not in self._table.skip_missing:
                self._unfilled_cells.pop(base, None)
        for name, dtype in self._required.lists.items():
            read[f".{name}"] = self._list(name, dtype, rows)
        if self._table.key_fields:
            read["key"] = _row_texts([read[f".{name}"] for name in self._table.key_fields])
        self._check_empty(kind)
        # Report unreadable records last: unlike bad cells, they do not indicate wrongly declared columns.
        further = self._chunk.further
        for row in sorted(self._bad):
            self._report.bad_row(f"{self._row(row)}{self._bad[row]}", int(further[row]))
        for record in self._chunk.bad:
            number = row_words(record.row, record.line, record.further)
            description = f"{self._place}: row {number}: {record.words()}"
            self._report.bad_row(description, record.further)
        for row in self._skipped.keys() - self._bad.keys():
            name = self._skipped[row]
            self._report.skipped[name] = self._report.skipped.get(name, 0) + 1
            self._report.lines_in_skipped += int(further[row])
        good = np.delete(np.arange(rows), [*{*self._bad, *self._skipped}])
        late_by = self._report.lateness.measure(ts[good])
        for role, column in self._chosen.names.items():
            if column == LATE:  # a field, as `Table` checks
                dtype = self._required.fields[role.removeprefix(".")]
                if dtype != np.int64:
                    raise DatasetError(f"{self._where(role)} needs a field of int64, not {dtype}")
                read[role] = lateness = np.zeros(rows, np.int64)
                lateness[good] = late_by
        good = self._remove_late(good, ts, late_by)
        self._report.add_rows(good, ts[good], further, self._row)
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
        lateness = self._report.lateness
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
        first = self._rows_before + self._report.rows_read + 1
        return pa.array(np.arange(first, first + rows))

    def _row(self, row: int) -> str:
        return f"{self._place}: row {self._chunk.number(row)}"

    def _where(self, role: str) -> str:
        return f"{self._place}: column {self._chosen.names[role]}"

    def _row_of_file(self, row: int) -> str:
        return f"{self._file}: row {self._chunk.number(row)}"

    def _note(self, role: str, bad: Mapping[int, str]) -> None:
        """Record rows as bad; only the first reason for a row counts."""
        for row, reason in bad.items():
            self._bad.setdefault(row, f", column {self._chosen.names[role]}: {reason}")

    def _kinds(self, rows: int) -> npt.NDArray[np.int8]:
        """Return the index of each row's kind; note rows of an unknown kind as bad."""
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
        self._empty_cells[name] = is_empty
        if name in self._table.fill:
            texts = pc.if_else(pa.array(is_empty), self._table.fill[name], texts)
            self._count_filled(name, is_empty)
        elif role not in (KEY, KIND):
            self._unfilled_cells[name] = is_empty
        elif role == KEY and KEY in self._table.skip_missing:
            self._skip(KEY, is_empty)
        else:
            self._note(role, {int(row): "is empty" for row in np.flatnonzero(is_empty)})
        return texts

    def _count_filled(self, name: str, empty: npt.NDArray[np.bool_]) -> None:
        filled, count = self._report.filled, int(np.count_nonzero(empty))
        if count:
            filled[name] = filled.get(name, 0) + count

    def _skip(self, name: str, empty: npt.NDArray[np.bool_]) -> None:
        """Note rows to be skipped because field `name` is empty."""
        for row in np.flatnonzero(empty).tolist():
            self._skipped.setdefault(row, name)

    def _field(self, name: str, dtype: np.dtype[Any], rows: int) -> "npt.NDArray[Any] | pa.Array":
        """Return a field as numbers, or as texts to be numbered later; note its empty and bad cells."""
        role = f".{name}"
        if role not in self._cells:
            self._unfilled_cells[name] = self._absent(name, rows)
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
        self._empty_cells[name] = cells.empty
        values = cells.values
        if name in self._table.fill:
            values = np.where(cells.empty, dtype.type(self._table.fill[name]), values)
            self._count_filled(name, cells.empty)
        else:
            self._unfilled_cells[name] = cells.empty
        self._note(role, cells.bad)
        if cells.bad and dtype.kind in "iu" and name not in self._report.no_numbers:
            self._report.no_numbers.append(name)
        return values

    def _derived_column(self, name: str, dtype: np.dtype[Any]) -> "npt.NDArray[Any] | pa.Array":
        """Return the results of a derive function for a column's texts; call it once for each distinct text."""
        role, (_, function) = f".{name}", self._table.derive[name]
        texts = self._texts(role)
        coded = texts.dictionary_encode()
        results = self._derived_texts.setdefault(
            name, DerivedTexts(function, dtype, name in self._table.ids)
        )
        values, failures = results.derive(coded.dictionary.to_pylist())
        codes = coded.indices.to_numpy()
        missing = self._empty_cells[name]
        for code, reason in failures.items():
            rows = np.flatnonzero((codes == code) & ~missing)
            self._note(role, {int(row): f"{name} {reason}" for row in rows})
        if name in self._table.ids:
            return pa.array(values, pa.string()).take(pa.array(codes))
        return np.array(values, dtype)[codes] if values else np.zeros(len(texts), dtype)

    def _absent(self, name: str, rows: int) -> npt.NDArray[np.bool_]:
        """Return which rows count as empty for a field without a column: none for `NO_COLUMN`, otherwise all."""
        return np.full(rows, self._table.columns.get(name) != NO_COLUMN)

    def _list(self, name: str, dtype: np.dtype[Any], rows: int) -> "ListColumn | pa.Array":
        """Return a column of lists of numbers or texts."""
        role = f".{name}"
        cells = self._cells.get(role)
        if cells is None or pa.types.is_null(cells.type):
            self._unfilled_cells[name] = (
                self._absent(name, rows) if cells is None else np.ones(rows, np.bool_)
            )
            return ListColumn(np.zeros(rows + 1, np.int64), np.empty(0, dtype))
        self._unfilled_cells[name] = mask_of(cells.is_null())
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
        for name, empty in self._unfilled_cells.items():
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
        report = self._report
        by_kind = [good[kind[good] == index] for index in range(len(report.row_counts))]
        for index, rows in enumerate(by_kind):
            report.row_counts[index] += len(rows)
        for name, empty in self._unfilled_cells.items():
            for index, rows in enumerate(by_kind):
                without = rows[empty[rows]]
                if not len(without):
                    continue
                report.empty[index, name] = report.empty.get((index, name), 0) + len(without)
                column = self._chosen.names.get(f".{name}", name)
                description = f"{self._row(int(without[0]))}, column {column}"
                report.first_empty.setdefault((index, name), description)


def _row_texts(columns: "Sequence[npt.NDArray[Any] | ListColumn | pa.Array]") -> "pa.Array":
    """Return a text for the values of each row; different values have different texts."""
    texts = [pa.array(column).cast(pa.string()) for column in columns]
    if len(texts) == 1:
        return texts[0]
    lengths = [pc.utf8_length(text).cast(pa.string()) for text in texts]
    parts = [part for pair in zip(lengths, texts, strict=True) for part in pair]
    return pc.binary_join_element_wise(*parts, ":")
