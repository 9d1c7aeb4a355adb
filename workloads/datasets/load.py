"""Reads a stream from disk into aligned, contiguous columns."""

from typing import Any

import numpy as np
import numpy.typing as npt

from workloads.datasets.dataset import DatasetStream
from workloads.datasets.errors import DatasetError
from workloads.datasets.stream_file import read_groups
from workloads.model import Stream
from workloads.model.stream import IntArray

ALIGNMENT_BYTES = 64
"""A cache line, and the widest vector register."""


def load_stream(stream: DatasetStream) -> Stream:
    """Read one stream into memory, row group by row group, and no further than its rows.

    Raises:
        DatasetError: the file is missing, damaged, or not what the catalogue says.
    """
    columns = {name: aligned(stream.rows, np.dtype(dtype)) for name, dtype in stream.columns}
    _fill(stream, columns, None)
    ts, tag = columns.pop("ts"), columns.pop("tag", None)
    return Stream(
        name=stream.name,
        kinds=stream.kinds,
        ts=ts,
        tag=tag,
        payload=columns,
        heartbeats=np.array(stream.heartbeats, dtype=np.int64),
    )


def load_column(stream: DatasetStream, name: str) -> IntArray:
    """Read one column of a stream into memory.

    Raises:
        DatasetError: as `load_stream`.
    """
    dtype = dict(stream.columns)[name]
    columns = {name: aligned(stream.rows, np.dtype(dtype))}
    _fill(stream, columns, [name])
    return columns[name]


def _fill(
    stream: DatasetStream, columns: dict[str, npt.NDArray[Any]], only: list[str] | None
) -> None:
    row = 0
    exact = stream.whole is None
    for group in read_groups(stream.path, only):
        rows = len(next(iter(group.values())))
        if set(group) != set(columns) or (exact and row + rows > stream.rows):
            break
        rows = min(rows, stream.rows - row)
        for name, values in group.items():
            columns[name][row : row + rows] = values[:rows]
        row += rows
        if not exact and row == stream.rows:
            return
    else:
        if row == stream.rows:
            return
    raise DatasetError(
        f"{stream.path} does not hold {stream.rows} rows of {', '.join(columns)}, as the catalogue "
        "says; remove its folder and build or import it again"
    )


def aligned(rows: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an uninitialised array whose first element is 64-byte aligned."""
    raw = np.empty(rows * dtype.itemsize + ALIGNMENT_BYTES, dtype=np.uint8)
    begin = -raw.ctypes.data % ALIGNMENT_BYTES
    return raw[begin : begin + rows * dtype.itemsize].view(dtype)
