"""Reads the rows of raw files of a kind, in splits, and accounts for every line."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.arrow import Column, column_of
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.executor import Executor
from streamlab.workloads.datasets.imports.cells import Cells, Transform
from streamlab.workloads.datasets.imports.kind import ImportKind, ImportOptions, chosen_columns
from streamlab.workloads.datasets.tables.cells import is_text
from streamlab.workloads.datasets.tables.source import FIRST, Part, Split, Start, ignore
from streamlab.workloads.datasets.tables.split_reader import (
    PrecedingRows,
    SplitResult,
    SplitRows,
    read_splits,
)
from streamlab.workloads.datasets.tables.split_writer import ROW_NUMBER
from streamlab.workloads.datasets.text.records import Chunk
from streamlab.workloads.datasets.text.report import RowReport
from streamlab.workloads.datasets.times import ColumnTimes, TimeReader


def read(
    kind: ImportKind, options: ImportOptions, folder: Path, executor: Executor
) -> SplitRows[RowReport]:
    """Read all good rows to a folder: `ts`, and the columns of the kind.

    Raises:
        DatasetError: a file cannot be read, or has no, unsorted or too many bad rows.
    """
    rows = read_splits(KindRows(kind=kind, options=options), folder, executor)
    _check(rows.reading, options)
    return rows


def _check(reading: RowReport, options: ImportOptions) -> None:
    if reading.bad and not reading.rows:
        raise DatasetError(
            f"{reading.bad_lines[0]}; none of the {reading.lines:,} lines can be read, so this is "
            "not a file of this kind, or its options do not fit"
        )
    if reading.bad > options.max_bad:
        more = f"; {reading.bad} of {reading.lines} lines are bad" if reading.bad > 1 else ""
        raise DatasetError(f"{reading.bad_lines[0]}{more}; {reading.excess()}")
    if reading.descents and not options.sort:
        raise DatasetError(
            f"{reading.first_descent}; {reading.descents} of {reading.rows} rows are before the "
            "row above them; --sort sorts the rows by time and keeps them all"
        )
    if not reading.rows:
        raise DatasetError("the input has no rows; there is nothing to import")


def _add(report_bytes: Callable[[int], None], before: int, done: int) -> None:
    at(before + done)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRows:
    """How raw files of a kind are read."""

    kind: ImportKind
    options: ImportOptions

    @property
    def source(self) -> "KindRows":
        """Return the splits: itself."""
        return self

    def files(self) -> tuple[Path, ...]:
        """As `Splits.files`."""
        return self.options.files

    def splits(self) -> tuple[Split, ...]:
        """As `Splits.splits`; of a sequential kind one, of all files."""
        form, options = self.kind.form, self.options
        if self.kind.sequential:
            return (Split(path=options.files[0]),)
        return tuple(split for path in options.files for split in form.splits(path, options))

    def parts(
        self, split: Split, start: Start = FIRST, report_bytes: Callable[[int], None] = ignore
    ) -> Iterator[Part]:
        """As `Splits.parts`."""
        form, options = self.kind.form, self.options
        if not self.kind.sequential:
            yield from form.parts(split, options, start, report_bytes)
            return
        offset = 0
        for path in options.files:
            yield from form.parts(Split(path=path), options, FIRST, partial(_report_sum, report_bytes, offset))
            offset += path.stat().st_size

    def reading(self, latest: int | None = None) -> RowReport:
        """As `Rows.reading`."""
        return RowReport()

    def times(self) -> TimeReader:
        """As `Rows.times`."""
        return TimeReader(self.options.times.time_format, unit=self.options.times.unit)

    def parser(self, result: SplitResult[RowReport]) -> "_Parser":
        """As `Rows.parser`."""
        return _Parser(
            kind=self.kind,
            roles=self.kind.form.columns(self.options),
            transform=self.kind.transform(self.options),
            result=result,
            times=ColumnTimes(result.times),
        )

    def is_valid_after(self, result: SplitResult[RowReport], before: PrecedingRows) -> bool:
        """As `Rows.holds`: no row of a split depends on rows of other splits."""
        return True

    def refuse(self, reading: RowReport) -> None:
        """As `Rows.refuse`: never, since the error states the number of all lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parser:
    """Parses the rows of a split of a raw file (`split_reader.Parser`)."""

    kind: ImportKind
    roles: Mapping[str, str]
    transform: Transform
    result: SplitResult[RowReport]
    times: ColumnTimes

    def columns(self, part: Part) -> Sequence[int]:
        return chosen_columns(part, self.roles)

    def rows(self, part: Part, chunk: Chunk) -> "Mapping[str, Column | pa.Array]":
        cells = Cells(part, chunk, tuple(self.roles), self.times)
        batch = self._good(self.transform(cells), cells)
        if not batch.num_rows:
            return {"ts": np.zeros(0, np.int64)}
        if self.kind.derive is not None:
            batch = self.kind.derive(batch)
        block: dict[str, Column | pa.Array] = {"kind": np.zeros(batch.num_rows, np.int8)}
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            text = is_text(column.type) or pa.types.is_list(column.type)
            block[name] = column if text else column_of(column)
            if text:
                self.result.texts.setdefault(name, f"{part.place}: column {name}")
        return block

    def _good(self, columns: Mapping[str, object], cells: Cells) -> "pa.RecordBatch":
        """Return the good rows of a chunk, and account for its rows."""
        chunk, reading = cells.chunk, self.result.reading
        reading.skipped_lines += int((1 + chunk.further)[cells.skipped].sum())
        for words, lines in cells.bad_rows():
            reading.bad_row(words, lines)
        good = cells.good()
        rows = np.flatnonzero(good)
        types = {name: pa.type_for_alias(alias) for name, alias in self.kind.columns}
        types = {"ts": pa.int64()} | types
        arrays = [pa.array(columns[name], dtype) for name, dtype in types.items()]
        if len(rows) < len(good):
            arrays = [array.take(pa.array(rows)) for array in arrays]
        number = pa.array(np.arange(reading.rows, reading.rows + len(rows)))
        reading.add_rows(rows, arrays[0].to_numpy(), chunk.further, cells.place)
        return pa.RecordBatch.from_arrays([number, *arrays], [ROW_NUMBER, *types])
