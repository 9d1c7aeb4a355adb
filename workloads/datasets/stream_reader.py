"""Reads a stream from disk into aligned, contiguous columns."""

from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.arrow import Column
from streamlab.workloads.datasets.dataset import DatasetStream
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.integrity import check_stream
from streamlab.workloads.datasets.stream_file import most_values, read_groups
from streamlab.workloads.model import ColumnType, ListColumn, ListType, Stream, column_type
from streamlab.workloads.model.streams.stream import IntArray

ALIGNMENT_BYTES = 64
"""A cache line, and the widest vector register."""


def load_stream(stream: DatasetStream) -> Stream:
    """Read one stream into memory, row group by row group, up to its number of rows.

    First verifies the content, unless the stream carries the stamp of a verified file.

    Raises:
        DatasetError: the file is missing, damaged, or does not match the catalogue.
    """
    columns = _read(stream, [name for name, _ in stream.columns])
    ts, tag = columns.pop("ts"), columns.pop("tag", None)
    assert not isinstance(ts, ListColumn)
    assert not isinstance(tag, ListColumn)
    return Stream(
        name=stream.name,
        kinds=stream.kinds,
        ts=ts,
        tag=tag,
        payload=columns,
        heartbeats=np.array(stream.heartbeats, dtype=np.int64),
    )


def load_column(stream: DatasetStream, name: str) -> IntArray:
    """Read one column of numbers of a stream into memory.

    Raises:
        DatasetError: as `load_stream`.
    """
    column = _read(stream, [name])[name]
    assert not isinstance(column, ListColumn)
    return column


def _read(stream: DatasetStream, names: list[str]) -> dict[str, Column]:
    check_stream(stream)
    types = dict(stream.columns)
    columns = {name: _place(stream, name, column_type(types[name])) for name in names}
    row = 0
    exact = stream.whole is None
    for group in read_groups(stream.path, names if len(names) < len(types) else None):
        rows = len(next(iter(group.values())))
        if set(group) != set(columns) or (exact and row + rows > stream.rows):
            break
        rows = min(rows, stream.rows - row)
        for name, values in group.items():
            columns[name].put(row, values[:rows])
        row += rows
        if not exact and row == stream.rows:
            return {name: place.column() for name, place in columns.items()}
    else:
        if row == stream.rows:
            return {name: place.column() for name, place in columns.items()}
    raise DatasetError(
        f"{stream.path} does not hold {stream.rows} rows of {', '.join(columns)}, as the catalogue "
        "says; make its dataset again"
    )


class _Values:
    """Collects a column of single values."""

    def __init__(self, rows: int, dtype: np.dtype[Any]) -> None:
        self._values = aligned(rows, dtype)

    def put(self, row: int, part: Column) -> None:
        assert not isinstance(part, ListColumn)
        self._values[row : row + len(part)] = part

    def column(self) -> Column:
        return self._values


class _Lists:
    """Collects a column of lists; both of its arrays are aligned."""

    def __init__(self, rows: int, most: int, dtype: np.dtype[Any]) -> None:
        self._offsets = aligned(rows + 1, np.dtype(np.int64))
        self._offsets[:] = 0
        self._values = aligned(most, dtype)  # unused pages are never touched and take no memory
        self._end = 0

    def put(self, row: int, part: Column) -> None:
        assert isinstance(part, ListColumn)
        packed = part.packed()
        end = self._end + len(packed.values)
        self._values[self._end : end] = packed.values
        self._offsets[row + 1 : row + 1 + len(part)] = packed.offsets[1:] + self._end
        self._end = end

    def column(self) -> Column:
        return ListColumn(self._offsets, self._values[: self._end])


def _place(stream: DatasetStream, name: str, dtype: ColumnType) -> _Values | _Lists:
    if isinstance(dtype, ListType):
        return _Lists(stream.rows, most_values(stream.path, name), dtype.element)
    return _Values(stream.rows, dtype)


def aligned(rows: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an uninitialised array whose first element is 64-byte aligned."""
    raw = np.empty(rows * dtype.itemsize + ALIGNMENT_BYTES, dtype=np.uint8)
    begin = -raw.ctypes.data % ALIGNMENT_BYTES
    return raw[begin : begin + rows * dtype.itemsize].view(dtype)
