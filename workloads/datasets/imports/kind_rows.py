"""Reads the rows of raw files of an import kind in splits, and counts every line."""

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
        DatasetError: a file cannot be read, rows are unsorted, too many rows are bad, or there are no rows.
    """
    rows = read_splits(KindRows(kind=kind, options=options), folder, executor)
    _check(rows.report, options)
    return rows


def _check(report: RowReport, options: ImportOptions) -> None:
    """Raise a `DatasetError` if there are no rows, too many bad rows, or unsorted rows that may not be sorted."""
    if report.bad and not report.rows:
        raise DatasetError(
            f"{report.bad_lines[0]}; none of the {report.lines:,} lines can be read, so this is "
            "not a file of this kind, or its options do not fit"
        )
    if report.bad > options.max_bad:
        total = f"; {report.bad} of {report.lines} lines are bad" if report.bad > 1 else ""
        raise DatasetError(f"{report.bad_lines[0]}{total}; {report.excess()}")
    if report.descents and not options.sort:
        raise DatasetError(
            f"{report.first_descent}; {report.descents} of {report.rows} rows are before the "
            "row above them; --sort sorts the rows by time and keeps them all"
        )
    if not report.rows:
        raise DatasetError("the input has no rows; there is nothing to import")


def _report_sum(report_bytes: Callable[[int], None], before: int, done: int) -> None:
    report_bytes(before + done)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRows:
    """Implements `split_reader.Rows` for raw files of an import kind."""

    kind: ImportKind
    options: ImportOptions

    @property
    def source(self) -> "KindRows":
        """Return itself."""
        return self

    def files(self) -> tuple[Path, ...]:
        """Return the raw files, in reading order."""
        return self.options.files

    def splits(self) -> tuple[Split, ...]:
        """Return the splits of all files. A sequential kind has one split for all files."""
        file_format, options = self.kind.file_format, self.options
        if self.kind.sequential:
            return (Split(path=options.files[0]),)
        return tuple(split for path in options.files for split in file_format.splits(path, options))

    def parts(
        self, split: Split, start: Start = FIRST, report_bytes: Callable[[int], None] = ignore
    ) -> Iterator[Part]:
        """Yield the parts of a split; call `report_bytes` with the number of bytes read so far."""
        file_format, options = self.kind.file_format, self.options
        if not self.kind.sequential:
            yield from file_format.parts(split, options, start, report_bytes)
            return
        offset = 0
        for path in options.files:
            yield from file_format.parts(
                Split(path=path), options, FIRST, partial(_report_sum, report_bytes, offset)
            )
            offset += path.stat().st_size

    def new_report(self, latest: int | None = None) -> RowReport:
        """Return an empty report."""
        return RowReport()

    def times(self) -> TimeReader:
        """Return a reader of times."""
        return TimeReader(self.options.times.time_format, unit=self.options.times.unit)

    def parser(self, result: SplitResult[RowReport]) -> "_Parser":
        """Return the parser of a split, which records in `result`."""
        return _Parser(
            kind=self.kind,
            roles=self.kind.file_format.columns(self.options),
            transform=self.kind.transform(self.options),
            result=result,
            times=ColumnTimes(result.times),
        )

    def is_valid_after(self, result: SplitResult[RowReport], before: PrecedingRows) -> bool:
        """Return True, because no row of a split depends on rows of other splits."""
        return True

    def refuse(self, report: RowReport) -> None:
        """Do nothing, because the error states the number of all lines, which is not known yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parser:
    """Implements `split_reader.Parser` for a split of raw files."""

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
        """Return the good rows of a chunk, and count all its rows."""
        chunk, report = cells.chunk, self.result.report
        report.skipped_lines += int((1 + chunk.further)[cells.skipped].sum())
        for description, further in cells.bad_rows():
            report.bad_row(description, further)
        good = cells.good()
        rows = np.flatnonzero(good)
        types = {name: pa.type_for_alias(alias) for name, alias in self.kind.columns}
        types = {"ts": pa.int64()} | types
        arrays = [pa.array(columns[name], dtype) for name, dtype in types.items()]
        if len(rows) < len(good):
            arrays = [array.take(pa.array(rows)) for array in arrays]
        number = pa.array(np.arange(report.rows, report.rows + len(rows)))
        report.add_rows(rows, arrays[0].to_numpy(), chunk.further, cells.place)
        return pa.RecordBatch.from_arrays([number, *arrays], [ROW_NUMBER, *types])
