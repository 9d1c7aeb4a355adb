"""Reads the raw files of an import into columns, and accounts for every line."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.cells import Cells
from streamlab.workloads.datasets.imports.forms import cells_of
from streamlab.workloads.datasets.imports.kind import ImportKind, ImportOptions
from streamlab.workloads.datasets.text.report import RowReport
from streamlab.workloads.datasets.times import ColumnTimes

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(slots=True, kw_only=True)
class Reading(RowReport):
    """The findings of reading the files.

    Attributes:
        blocks: number of blocks of rows.
        times: how times were read (`TimeReader.report`).
        descents: number of rows with an earlier time than the row before.
        first_descent: the first of these, in words.
        last_ts: time of the last row.
        last_place: place of the last row.
        error: why a file could not be read to its end.
    """

    blocks: int = 0
    times: dict[str, Any] = field(default_factory=dict)
    descents: int = 0
    first_descent: str = ""
    last_ts: int | None = None
    last_place: str = ""
    error: str = ""

    def note_order(
        self, cells: Cells, rows: npt.NDArray[np.int64], ts: npt.NDArray[np.int64]
    ) -> None:
        """Count the rows with an earlier time than the row before.

        Args:
            cells: the cells of a chunk.
            rows: indices of its good rows, at least one.
            ts: their times.
        """
        before = ts[0] if self.last_ts is None else self.last_ts
        for at in np.flatnonzero(np.diff(ts, prepend=before) < 0).tolist():
            self.descents += 1
            if not self.first_descent:
                earlier = cells.place(int(rows[at - 1])) if at else self.last_place
                place = cells.place(int(rows[at]))
                last = int(ts[at - 1]) if at else self.last_ts
                self.first_descent = f"{place}: time {ts[at]} is before {last} at {earlier}"
        self.last_ts, self.last_place = int(ts[-1]), cells.place(int(rows[-1]))

    def check(self, max_bad: int, sort: bool) -> None:
        """Refuse files that the options do not allow.

        Raises:
            DatasetError: a file could not be read, too many rows are bad, rows are not sorted, or
                no rows were found.
        """
        if self.error:
            raise DatasetError(self.error)
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
    """Yield the good rows of all files: `row`, `ts`, and the columns of the kind.

    Args:
        kind: of the import.
        options: complete.
        reading: counts the lines.
        at: receives the number of bytes read so far, of all files.

    Raises:
        DatasetError: a file cannot be read, or a column is missing.
    """
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
    import pyarrow as pa

    chunk = cells.chunk
    further = np.zeros(len(cells), np.int64) if chunk.further is None else chunk.further
    reading.empty_lines += chunk.empty_lines
    reading.passed_over += chunk.header_lines + int((1 + further)[cells.skipped].sum())
    for words, lines in cells.bad_rows():
        reading.bad_row(words, lines)
    good = ~cells.skipped
    good[list(cells.bad)] = False
    rows = np.flatnonzero(good)
    for row in rows[further[rows] > 0].tolist():
        reading.row_of_lines(cells.place(row), int(further[row]))
    types = {"ts": pa.int64()} | {name: pa.type_for_alias(alias) for name, alias in kind.columns}
    arrays = [pa.array(columns[name], dtype) for name, dtype in types.items()]
    if len(rows) < len(good):
        arrays = [array.take(pa.array(rows)) for array in arrays]
    if len(rows):
        reading.note_order(cells, rows, arrays[0].to_numpy())
    number = pa.array(np.arange(reading.rows, reading.rows + len(rows)))
    reading.rows += len(rows)
    return pa.RecordBatch.from_arrays([number, *arrays], ["row", *types])
