"""Converts the rows of a table to columns of numbers, and of texts that are numbered later, in reading order."""

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
    is_text,
    mask_of,
    numbers,
    plain,
    scaled_numbers,
    shown,
    with_point,
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
from streamlab.workloads.datasets.text.report import MOST_NAMED, RowReport
from streamlab.workloads.datasets.text.words import tokens
from streamlab.workloads.datasets.times import ColumnTimes
from streamlab.workloads.model import ListColumn

KEYS = "keys"
"""The name of the dictionary of keys."""


@dataclass(slots=True, kw_only=True)
class Reading(RowReport):
    """The findings of reading a table.

    Attributes:
        of_kind: number of good rows of each kind.
        empty: number of rows in which a field is empty, by kind and field.
        first_empty: the first of these rows, in words, by kind and field.
        no_numbers: fields of whole numbers with a value that is not one.
        lateness: how late rows are; rows left out as late and their lines are counted here only.
        skipped: number of rows that `skip_missing` leaves out, by the first field without a value.
        lines_in_skipped: number of lines of these rows after their first.
        filled: number of values from `fill`, by field.
    """

    of_kind: list[int] = field(default_factory=list)
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
        late = 0 if self.lateness.keeps else self.lateness.rows
        return self.rows + self.bad + late + sum(self.skipped.values())

    @property
    def latest(self) -> int | None:
        """As `RowReport.latest`."""
        return self.lateness.latest

    def has_words_after(self, merged: RowReport) -> bool:
        """As `RowReport.has_words_after`."""
        assert isinstance(merged, Reading), "both are of one table"
        return bool(
            RowReport.has_words_after(self, merged)
            or (self.lateness.rows and merged.lateness.rows < MOST_NAMED)
            or self.first_empty.keys() - merged.first_empty.keys()
        )

    def merge(self, other: RowReport) -> None:
        """As `RowReport.merge`."""
        assert isinstance(other, Reading), "both are of one table"
        RowReport.merge(self, other)
        self.of_kind = [a + b for a, b in zip(self.of_kind, other.of_kind, strict=True)]
        for mine, others in (
            (self.empty, other.empty),
            (self.skipped, other.skipped),
            (self.filled, other.filled),
        ):
            _add_counts(mine, others)
        self.first_empty = other.first_empty | self.first_empty
        self.no_numbers = list(dict.fromkeys([*self.no_numbers, *other.no_numbers]))
        self.lateness.merge(other.lateness)
        self.lines_in_skipped += other.lines_in_skipped

    def all_bad(self) -> str:
        """Return the error for a table whose first rows are all bad."""
        texts = self.no_numbers
        ids = f"; a field of texts is numbered by --ids {texts[0]} (ids=...)" if texts else ""
        return (
            f"{self.bad_lines[0]}; none of the first {self.bad:,} rows can be read, so the columns "
            f"are not as declared{ids}"
        )

    def origin(self) -> dict[str, object]:
        """Return the counts for the record of a dataset."""
        more: dict[str, object] = {
            "skipped_rows": sum(self.skipped.values()),
            "lines_in_skipped_rows": self.lines_in_skipped,
            "skipped_by_field": self.skipped,
            "filled_by_field": self.filled,
        }
        return {**RowReport.origin(self), **more}

    def present_fields(self, kind: int, required: RequiredColumns) -> tuple[str, ...]:
        """Return the fields that rows of a kind carry, which are not empty in all of them."""
        return tuple(
            name
            for name in (*required.fields, *required.lists)
            if name in required.of_kind[kind]
            and not (0 < self.of_kind[kind] == self.empty.get((kind, name), 0))
        )

    def partial_fields(self, required: RequiredColumns) -> dict[tuple[int, str], int]:
        """Return the fields that only some rows of a kind have, with the number of rows without."""
        return {
            (kind, name): count
            for (kind, name), count in self.empty.items()
            if name in required.of_kind[kind] and 0 < count < self.of_kind[kind]
        }


class BlockReader:
    """Turns a chunk into columns of numbers, and of texts that are numbered later."""

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
        self._empty: dict[
            str, npt.NDArray[np.bool_]
        ] = {}  # without those that `fill` gives a value
        self._lacking: dict[str, npt.NDArray[np.bool_]] = {}
        in_part = {role: chunk.batch.column(number) for number, role in enumerate(chosen.index)}
        self._cells = {
            role: plain(in_part[role]) if role in in_part else self._made_column(name, part)
            for role, name in chosen.names.items()
        }

    def columns(self) -> "dict[str, Column | pa.Array]":
        """Return the good rows; record the bad ones in the reading."""
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
        # Invalid rows come last, because they do not show whether columns are declared wrongly.
        further = self._chunk.further
        for row in sorted(self._bad):
            self._reading.bad_row(f"{self._row(row)}{self._bad[row]}", int(further[row]))
        for record in self._chunk.bad:
            number = row_words(record.row, record.line, record.further)
            self._reading.bad_row(f"{self._place}: row {number}: {record.words()}", record.further)
        for row in self._skipped.keys() - self._bad.keys():
            name = self._skipped[row]
            self._reading.skipped[name] = self._reading.skipped.get(name, 0) + 1
            self._reading.lines_in_skipped += int(further[row])
        good = np.delete(np.arange(rows), [*{*self._bad, *self._skipped}])
        behind = self._reading.lateness.measure(ts[good])
        for role, column in self._chosen.names.items():
            if column == LATE:  # a field, as `Table` checks
                dtype = self._required.fields[role.removeprefix(".")]
                if dtype != np.int64:
                    raise DatasetError(f"{self._where(role)} needs a field of int64, not {dtype}")
                read[role] = late = np.zeros(rows, np.int64)
                late[good] = behind
        good = self._timely(good, ts, behind)
        self._reading.add_rows(good, ts[good], further, self._row)
        self._count(kind, good)
        rows_good = pa.array(good)
        return {
            name: column.take(rows_good)
            if isinstance(column, pa.Array)
            else take_rows(column, good)
            for name, column in read.items()
        }

    def _timely(
        self,
        good: npt.NDArray[np.int64],
        ts: npt.NDArray[np.int64],
        behind: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int64]:
        """Return the good rows that stay, by how late they are; record the late ones in the reading."""
        lateness = self._reading.lateness
        if lateness.bound is None:
            return good
        late = behind > lateness.bound
        for at in np.flatnonzero(late).tolist():
            row = int(good[at])
            words = f"{self._row(row)}: time {ts[row]} is {behind[at]} before the latest time above"
            lateness.count(words, 0 if lateness.keeps else int(self._chunk.further[row]))
        return good if lateness.keeps else good[~late]

    def _time_cells(self) -> "pa.Array":
        """Return the cells of times; those of several columns as texts with blanks between."""
        cells = [self._cells[role] for role in self._chosen.names if role.partition(".")[0] == TS]
        if len(cells) == 1:
            return cells[0]
        texts = [pc.utf8_trim_whitespace(plain(each).cast(pa.string())) for each in cells]
        whole = [pc.if_else(pc.equal(each, ""), None, each) for each in texts]
        return pc.binary_join_element_wise(*whole, " ")

    def _made_column(self, name: str, part: Part) -> "pa.Array":
        """Return one of `MADE_COLUMNS`; times of `START` and lateness are set later."""
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
        for row, why in bad.items():
            self._bad.setdefault(row, f", column {self._chosen.names[role]}: {why}")

    def _kinds(self, rows: int) -> npt.NDArray[np.int8]:
        if self._chosen.kind is not None:
            return np.full(rows, self._chosen.kind, np.int8)
        names = self._required.kinds
        texts = self._texts(KIND)
        codes = pc.index_in(texts, pa.array(names, texts.type)).fill_null(-1)
        kinds = np.asarray(codes.to_numpy(zero_copy_only=False)).astype(np.int8)
        for row in np.flatnonzero(kinds < 0):
            why = f"{shown(texts[int(row)].as_py())} is not one of the kinds {', '.join(names)}"
            self._note(KIND, {int(row): why})
        return np.maximum(kinds, 0)

    def _texts(self, role: str) -> "pa.Array":
        """Return a column as texts without surrounding blanks; empty ones are bad or noted as empty."""
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
        column, points = with_point(self._cells[role], self._table.decimal)
        self._note(role, points)
        factor = self._table.scale.get(name)
        if factor is None:
            cells = numbers(column, dtype, self._where(role))
        else:
            cells = scaled_numbers(column, factor, dtype, self._where(role))
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
        values, wrong = results.of(coded.dictionary.to_pylist())
        codes = coded.indices.to_numpy()
        missing = self._lacking[name]
        for code, why in wrong.items():
            rows = np.flatnonzero((codes == code) & ~missing)
            self._note(role, {int(row): f"{name} {why}" for row in rows})
        if name in self._table.ids:
            return pa.array(values, pa.string()).take(pa.array(codes))
        return np.array(values, dtype)[codes] if values else np.zeros(len(texts), dtype)

    def _absent(self, name: str, rows: int) -> npt.NDArray[np.bool_]:
        """Return the mask of empty rows of a field without a column: none, if the field is to be 0."""
        return np.full(rows, self._table.columns.get(name) != NO_COLUMN)

    def _list(self, name: str, dtype: np.dtype[Any], rows: int) -> "ListColumn | pa.Array":
        """Return lists of numbers, or of texts that are numbered later."""
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
            words = [tokens(text or "").words for text in cells.to_pylist()]
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
        elements = numbers(flat, dtype, self._where(role))
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
        why = {**{int(index): "is empty" for index in np.flatnonzero(empty)}, **bad}
        for element, words in why.items():
            row = int(np.searchsorted(offsets, element, side="right")) - 1
            self._note(role, {row: f"element {element - offsets[row] + 1}: {words}"})

    def _check_empty(self, kind: npt.NDArray[np.int8]) -> None:
        """Record rows without a field that their kind must have as bad."""
        if not self._required.certain and self._chosen.kind is None:
            return
        for name, empty in self._empty.items():
            if not empty.any() or f".{name}" not in self._cells:
                continue
            must = np.array([name in names for names in self._required.of_kind])
            if name in self._table.skip_missing:
                self._skip(name, empty & must[kind])
                continue
            for row in np.flatnonzero(empty & must[kind]):
                self._note(f".{name}", {int(row): "is empty"})

    def _count(self, kind: npt.NDArray[np.int8], good: npt.NDArray[np.int64]) -> None:
        reading = self._reading
        by_kind = [good[kind[good] == index] for index in range(len(reading.of_kind))]
        for index, rows in enumerate(by_kind):
            reading.of_kind[index] += len(rows)
        for name, empty in self._empty.items():
            for index, rows in enumerate(by_kind):
                without = rows[empty[rows]]
                if not len(without):
                    continue
                reading.empty[index, name] = reading.empty.get((index, name), 0) + len(without)
                column = self._chosen.names.get(f".{name}", name)
                words = f"{self._row(int(without[0]))}, column {column}"
                reading.first_empty.setdefault((index, name), words)


def _add_counts(counts: dict[Any, int], more: Mapping[Any, int]) -> None:
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count


def _row_texts(columns: "Sequence[npt.NDArray[Any] | ListColumn | pa.Array]") -> "pa.Array":
    """Return one text for the values of a row, different for different values."""
    texts = [pa.array(column).cast(pa.string()) for column in columns]
    if len(texts) == 1:
        return texts[0]
    lengths = [pc.utf8_length(text).cast(pa.string()) for text in texts]
    parts = [part for pair in zip(lengths, texts, strict=True) for part in pair]
    return pc.binary_join_element_wise(*parts, ":")
