"""Reads a stream from disk into aligned, contiguous columns."""

from typing import Any

import numpy as np
import numpy.typing as npt

from workloads.datasets.dataset import DatasetStream
from workloads.datasets.errors import DatasetError
from workloads.datasets.stream_file import read_groups
from workloads.model import Stream

ALIGNMENT_BYTES = 64
"""A cache line, and the widest vector register."""


def load_stream(stream: DatasetStream) -> Stream:
    """Read one stream into memory, row group by row group.

    Raises:
        DatasetError: the file is missing, damaged, or not what the catalogue says.
    """
    columns = {name: aligned(stream.rows, np.dtype(dtype)) for name, dtype in stream.columns}
    row = 0
    for group in read_groups(stream.path):
        rows = len(next(iter(group.values())))
        if set(group) != set(columns) or row + rows > stream.rows:
            break
        for name, values in group.items():
            columns[name][row : row + rows] = values
        row += rows
    else:
        if row == stream.rows:
            ts, tag = columns.pop("ts"), columns.pop("tag", None)
            return Stream(
                name=stream.name,
                kinds=stream.kinds,
                ts=ts,
                tag=tag,
                payload=columns,
                heartbeats=np.array(stream.heartbeats, dtype=np.int64),
            )
    raise DatasetError(
        f"{stream.path} does not hold {stream.rows} rows of {', '.join(columns)}, as the catalogue "
        "says; remove its folder and build or import it again"
    )


def aligned(rows: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return an uninitialised array whose first element is 64-byte aligned."""
    raw = np.empty(rows * dtype.itemsize + ALIGNMENT_BYTES, dtype=np.uint8)
    begin = -raw.ctypes.data % ALIGNMENT_BYTES
    return raw[begin : begin + rows * dtype.itemsize].view(dtype)
