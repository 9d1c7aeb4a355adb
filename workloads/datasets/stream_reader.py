"""Reads a stream from disk into aligned, contiguous columns."""

from collections.abc import Collection
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
"""Size of a cache line and of the widest vector registers."""


def load_stream(stream: DatasetStream, fields: Collection[str] | None = None) -> Stream:
    """Read times, tags and `fields` (None: all columns) of a stream into memory.

    Verifies the content first, unless the stream carries the stamp of verified files.

    Raises:
        DatasetError: a file is missing, damaged, or does not match the catalogue.
    """
    selected = None if fields is None else {"ts", "tag", *fields}
    columns = _read(stream, [n for n, _ in stream.columns if selected is None or n in selected])
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
        DatasetError: a file is missing, damaged, or does not match the catalogue.
    """
    column = _read(stream, [name])[name]
    assert not isinstance(column, ListColumn)
    return column


def _read(stream: DatasetStream, names: list[str]) -> dict[str, Column]:
    """Return the columns `names` of a stream, after verifying its files."""
    check_stream(stream)
    types = dict(stream.columns)
    columns = {name: _allocate(stream, name, column_type(types[name])) for name in names}
    row, ends = 0, dict.fromkeys(names, 0)
    selected = names if len(names) < len(types) else None
    for group in (group for path in stream.paths for group in read_groups(path, selected)):
        rows = len(next(iter(group.values())))
        if set(group) != set(columns) or (stream.whole is None and row + rows > stream.rows):
            row = -1
            break
        rows = min(rows, stream.rows - row)
        for name, values in group.items():
            ends[name] += _copy_rows(columns[name], row, ends[name], values[:rows])
        row += rows
        if stream.whole is not None and row == stream.rows:
            break
    if row != stream.rows:
        raise DatasetError(
            f"{stream.path} does not have the {stream.rows} rows of {', '.join(columns)} that its record "
            "states; make its dataset again"
        )
    return {
        name: ListColumn(column.offsets, column.values[: ends[name]])
        if isinstance(column, ListColumn)
        else column
        for name, column in columns.items()
    }


def _allocate(stream: DatasetStream, name: str, dtype: ColumnType) -> Column:
    """Return a column for all rows, in aligned arrays."""
    if not isinstance(dtype, ListType):
        return aligned_array(stream.rows, dtype)
    offsets = aligned_array(stream.rows + 1, np.dtype(np.int64))
    offsets[:] = 0
    # `most_values` is an upper bound. Unused pages are never touched and take no memory.
    values = sum(most_values(path, name) for path in stream.paths)
    return ListColumn(offsets, aligned_array(values, dtype.element))


def _copy_rows(column: Column, row: int, end: int, part: Column) -> int:
    """Copy `part` into a column at row `row` (list elements at index `end`); return the number of elements copied."""
    if not isinstance(column, ListColumn):
        assert not isinstance(part, ListColumn)
        column[row : row + len(part)] = part
        return len(part)
    assert isinstance(part, ListColumn)
    packed = part.packed()
    column.values[end : end + len(packed.values)] = packed.values
    column.offsets[row + 1 : row + 1 + len(part)] = packed.offsets[1:] + end
    return len(packed.values)


def aligned_array(rows: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an uninitialised array whose first element is aligned to `ALIGNMENT_BYTES`."""
    raw = np.empty(rows * dtype.itemsize + ALIGNMENT_BYTES, dtype=np.uint8)
    begin = -raw.ctypes.data % ALIGNMENT_BYTES
    return raw[begin : begin + rows * dtype.itemsize].view(dtype)
