"""Rows of an import on disk, once their texts are numbers: a file of plain values for each column.

    <column>.values     the values one after another; of lists: the elements
    <column>.offsets    of lists only: int64, where each begins, and where the last ends
    order               int64, only where rows are not in order of time: which is first, second, ...

Files are mapped into memory, so that rows can be taken in another order without reading them whole.
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
    """Appends blocks of rows to the files in a folder; what was there before is removed."""

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
        """Return what was written, in that order."""
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
    """Rows in order of time, once `order` is there or because they were written so.

    Attributes:
        folder: with the files.
        types: of the columns, as `column_type` reads them.
        count: of rows.
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
        """Where the order of rows is, or is to be."""
        return self.folder / "order"

    def blocks(self) -> Iterator[Block]:
        """Yield the rows in order of time (ties: of writing), in blocks."""
        columns = {name: self._column(name, column_type(kind)) for name, kind in self.types.items()}
        order = _mapped(self.order, np.dtype(np.int64)) if self.order.is_file() else None
        for begin in range(0, self.count, BLOCK_ROWS):
            end = min(begin + BLOCK_ROWS, self.count)
            rows = np.arange(begin, end) if order is None else np.array(order[begin:end])
            yield {name: taken(column, rows) for name, column in columns.items()}

    def _column(self, name: str, dtype: ColumnType) -> Column:
        if not isinstance(dtype, ListType):
            return _mapped(self.folder / f"{name}.values", dtype)
        offsets = _mapped(self.folder / f"{name}.offsets", np.dtype(np.int64))
        return ListColumn(offsets, _mapped(self.folder / f"{name}.values", dtype.element))


def taken(column: Column, rows: npt.NDArray[np.int64]) -> Column:
    """Return the given rows of a column; copies."""
    if isinstance(column, ListColumn):
        return column.take(rows)
    return np.array(column[rows])


def where(block: Block, mask: npt.NDArray[np.bool_]) -> Block:
    """Return the rows of a block for which a mask is set."""
    rows = np.flatnonzero(mask)
    return {name: taken(column, rows) for name, column in block.items()}


def _mapped(path: Path, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if not path.stat().st_size:  # which cannot be mapped
        return np.empty(0, dtype)
    return np.memmap(path, dtype, "r")
