"""Reads the raw files of an import into columns, and accounts for every line."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.cells import Cells
from streamlab.workloads.datasets.imports.kind import ImportKind, ImportOptions, cells_of
from streamlab.workloads.datasets.text.report import RowReport
from streamlab.workloads.datasets.times import ColumnTimes


@dataclass(slots=True, kw_only=True)
class Reading(RowReport):
    """The findings of reading the files.

    Attributes:
        blocks: number of blocks of rows.
    """

    blocks: int = 0

    def check(self, max_bad: int, sort: bool) -> None:
        """Raise a `DatasetError` for files that have no, unsorted or too many bad rows."""
        if self.bad and not self.rows:
            raise DatasetError(
                f"{self.bad_lines[0]}; none of the {self.lines:,} lines can be read, so this is "
                "not a file of this kind, or its options do not fit"
            )
        if self.bad > max_bad:
            more = f"; {self.bad} of {self.lines} lines are bad" if self.bad > 1 else ""
            raise DatasetError(f"{self.bad_lines[0]}{more}; {self.excess()}")
        if self.descents and not sort:
            raise DatasetError(
                f"{self.first_descent}; {self.descents} of {self.rows} rows are before the row "
                "above them; --sort sorts the rows by time and keeps them all"
            )
        if not self.rows:
            raise DatasetError("the input has no rows; there is nothing to import")


def read_batches(
    kind: ImportKind, options: ImportOptions, reading: Reading, at: Callable[[int], None]
) -> "Iterator[pa.RecordBatch]":
    """Yield the good rows of all files: `row`, `ts`, and the columns of the kind; tell `at` the bytes read so far."""
    transform = kind.transform(options)
    times = ColumnTimes(options.times)
    done = 0
    for path in options.files:

        def position(here: int, done: int = done) -> None:
            at(done + here)

        for cells in cells_of(kind.form, path, options, position, times):
            batch = _batch(kind, transform(cells), cells, reading)
            if batch.num_rows:
                yield batch
        done += path.stat().st_size
    reading.times = options.times.report()


def _batch(
    kind: ImportKind, columns: Mapping[str, Any], cells: Cells, reading: Reading
) -> "pa.RecordBatch":
    """Return the good rows of a chunk, and account for all of its lines."""
    chunk = cells.chunk
    reading.empty_lines += chunk.empty_lines
    reading.passed_over += chunk.header_lines + int((1 + chunk.further)[cells.skipped].sum())
    for words, lines in cells.bad_rows():
        reading.bad_row(words, lines)
    good = cells.good()
    rows = np.flatnonzero(good)
    types = {"ts": pa.int64()} | {name: pa.type_for_alias(alias) for name, alias in kind.columns}
    arrays = [pa.array(columns[name], dtype) for name, dtype in types.items()]
    if len(rows) < len(good):
        arrays = [array.take(pa.array(rows)) for array in arrays]
    number = pa.array(np.arange(reading.rows, reading.rows + len(rows)))
    reading.add_rows(rows, arrays[0].to_numpy(), chunk.further, cells.place)
    return pa.RecordBatch.from_arrays([number, *arrays], ["row", *types])
