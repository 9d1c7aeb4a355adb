"""Stores rows of an import on disk, with texts already replaced by numbers: a file of values per column.

    <column>.values     the values, contiguous; of lists: the elements
    <column>.offsets    of lists only: int64, the start of each, and the end of the last
    order               int64, only if rows are not in order of time: row numbers in that order

Files are memory-mapped, so rows can be read in another order without loading entire files.
"""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.arrow import Column
from streamlab.workloads.model import Block, ColumnType, ListColumn, ListType, column_type, type_of

BLOCK_ROWS = 1 << 16


class RowsWriter:
    """Appends blocks of rows to the files in a folder; removes previous files."""

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)  # of a task that Spark repeats
        folder.mkdir()
        self._folder = folder
        self._files: dict[str, IO[bytes]] = {}
        self._ends: dict[str, int] = {}
        self._types: dict[str, ColumnType] = {}
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for file in self._files.values():
            file.close()

    def append(self, block: Block) -> None:
        """Append rows; all blocks have the same columns."""
        for name, column in block.items():
            self._types.setdefault(name, type_of(column))
            if isinstance(column, ListColumn):
                packed = column.packed()
                end = self._ends.get(name)
                ends = packed.offsets[0 if end is None else 1 :] + (end or 0)
                self._append(f"{name}.offsets", ends)
                self._ends[name] = (end or 0) + len(packed.values)
                self._append(f"{name}.values", packed.values)
            else:
                self._append(f"{name}.values", column)
        self._count += len(block["ts"])

    def rows(self) -> "Rows":
        """Return the written rows, in that order."""
        for file in self._files.values():
            file.flush()
        types = {name: dtype.name for name, dtype in self._types.items()}
        return Rows(folder=self._folder, types=types, count=self._count)

    def _append(self, name: str, values: npt.NDArray[Any]) -> None:
        if name not in self._files:
            self._files[name] = (self._folder / name).open("wb")
        self._files[name].write(np.ascontiguousarray(values).data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows in order of time, by the file `order` or because they were written so.

    Attributes:
        folder: with the files.
        types: column types, as `column_type` reads them.
        count: number of rows.
    """

    folder: Path
    types: Mapping[str, str]
    count: int

    @property
    def times(self) -> Path:
        """The file of event times, int64, in the order in which rows were written."""
        return self.folder / "ts.values"

    @property
    def order(self) -> Path:
        """The file with the order of rows; it may not exist yet."""
        return self.folder / "order"

    def blocks(self) -> Iterator[Block]:
        """Yield the rows in blocks, in order of time; ties are in the order of writing."""
        columns = {name: self._column(name, column_type(kind)) for name, kind in self.types.items()}
        order = _mapped(self.order, np.dtype(np.int64)) if self.order.is_file() else None
        for begin in range(0, self.count, BLOCK_ROWS):
            end = min(begin + BLOCK_ROWS, self.count)
            rows = np.arange(begin, end) if order is None else np.array(order[begin:end])
            yield {name: take_rows(column, rows) for name, column in columns.items()}

    def _column(self, name: str, dtype: ColumnType) -> Column:
        if not isinstance(dtype, ListType):
            return _mapped(self.folder / f"{name}.values", dtype)
        offsets = _mapped(self.folder / f"{name}.offsets", np.dtype(np.int64))
        return ListColumn(offsets, _mapped(self.folder / f"{name}.values", dtype.element))


def take_rows(column: Column, rows: npt.NDArray[np.int64]) -> Column:
    """Return a copy of some rows of a column."""
    if isinstance(column, ListColumn):
        return column.take(rows)
    return np.array(column[rows])


def select_rows(block: Block, mask: npt.NDArray[np.bool_]) -> Block:
    """Return the rows of a block for which a mask is set."""
    rows = np.flatnonzero(mask)
    return {name: take_rows(column, rows) for name, column in block.items()}


def _mapped(path: Path, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if not path.stat().st_size:  # an empty file cannot be mapped
        return np.empty(0, dtype)
    return np.memmap(path, dtype, "r")
