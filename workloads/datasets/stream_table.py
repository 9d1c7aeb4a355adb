"""Stores the rows of an import on disk, and writes streams from them.

Texts are already replaced by numbers. A folder has a file of values per column:

    <column>.values     the values, contiguous; of lists: the elements
    <column>.offsets    of lists only: int64, the start of each, and the end of the last
    order               int64, only if rows are not in order of time: row numbers in that order

Files are memory-mapped, so rows can be read in another order without loading entire files.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.arrow import Column
from streamlab.workloads.datasets.stream_file import write_stream
from streamlab.workloads.model import (
    Alphabet,
    Block,
    ColumnType,
    ListColumn,
    ListType,
    column_type,
    type_of,
)

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

    def __exit__(self, *error: object) -> None:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTable:
    """One stream to write.

    Attributes:
        name: of the stream.
        kinds: its kind indices.
        dtypes: columns to write, by name.
        blocks: makes the stream's blocks from blocks of all rows in order of time (ties: of the files). Its
            blocks have the columns of `dtypes`, and may have others.
    """

    name: str
    kinds: tuple[int, ...]
    dtypes: Mapping[str, ColumnType]
    blocks: Callable[[Iterator[Block]], Iterator[Block]]


def write_table(
    tables: tuple[StreamTable, ...],
    rows: tuple[Rows, ...],
    folder: Path,
    alphabet: Alphabet,
    index: int,
) -> dict[str, Any]:
    """Write one stream, by its index, from its rows, and return the fields of its `WrittenStream`."""
    table = tables[index]
    blocks = table.blocks(rows[index].blocks())
    return asdict(write_stream(folder, table.name, table.kinds, table.dtypes, blocks, alphabet))


def numbered_streams(
    count: int,
    name: str,
    dtypes: Mapping[str, ColumnType],
    share: Callable[[int, int, Iterator[Block]], Iterator[Block]],
    *,
    kind: int = 0,
) -> tuple[StreamTable, ...]:
    """Return streams of one kind, named `name-0` and so on; `share(count, index, blocks)` yields the rows of one."""
    return tuple(
        StreamTable(
            name=f"{name}-{index}",
            kinds=(kind,),
            dtypes=dtypes,
            blocks=partial(share, count, index),
        )
        for index in range(count)
    )


def share_rows(by: str, count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the rows of a stream: those whose column `by` modulo `count` equals `index`."""
    for block in blocks:
        yield select_rows(block, np.asarray(block[by]) % count == index)


def event_columns(fields: np.dtype[np.void]) -> dict[str, ColumnType]:
    """Return the column types of a stream of events with these fields: `ts` and the fields."""
    return {"ts": np.dtype(np.int64), **{name: fields[name] for name in fields.names or ()}}
