"""Packs columns into few bytes, because Spark copies and compresses a block several times.

Integers become differences from the least value, in the smallest type. Event times become differences from the
preceding row's time.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamlab.engines.spark.generic.tables import pack, unpack
from streamlab.workloads.datasets.arrow import Column, arrow_array, column_of
from streamlab.workloads.model import ListColumn

_STEPS = "ts"
"""The column of which differences between rows are packed."""


def pack_block(columns: Mapping[str, Column]) -> bytes:
    """Return columns with at least one row as bytes."""
    arrays: dict[str, Column] = {}
    packed: dict[str, str] = {}
    for name, column in columns.items():
        arrays[name] = column
        if isinstance(column, ListColumn):
            arrays[name] = column.packed()
        elif column.dtype.kind in "iu":
            arrays[name], base = _narrow(column, steps=name == _STEPS)
            packed[name] = f"{column.dtype.str} {base}"
    table = pa.table({name: arrow_array(column) for name, column in arrays.items()})
    return pack(table.replace_schema_metadata(packed))


def unpack_blocks(blocks: Sequence[pa.Buffer]) -> dict[str, Column]:
    """Return the columns of at least one block."""
    tables = [unpack(block) for block in blocks]
    ends = np.cumsum([len(table) for table in tables]).tolist()
    columns: dict[str, Column] = {}
    for name in tables[0].column_names:
        parts = [column_of(table[name]) for table in tables]
        lists = [part for part in parts if isinstance(part, ListColumn)]
        arrays = [part for part in parts if not isinstance(part, ListColumn)]
        if lists:
            columns[name] = ListColumn.concatenate(lists)
        elif arrays[0].dtype.kind not in "iu":
            columns[name] = np.concatenate(arrays)
        else:
            packed = [table.schema.metadata[name.encode()].decode().split() for table in tables]
            columns[name] = values = np.empty(ends[-1], packed[0][0])
            for part, end, (_, base) in zip(arrays, ends, packed, strict=True):
                _widen(part, int(base), values[end - len(part) : end], steps=name == _STEPS)
    return columns


def _narrow(column: npt.NDArray[Any], *, steps: bool) -> tuple[npt.NDArray[Any], int]:
    """Return differences of integers, and the number from which they count.

    Differences may wrap around; the sums of `_widen` then wrap back.
    """
    base = int(column[0] if steps else column.min())
    differences = np.diff(column, prepend=column[:1]) if steps else column - column.dtype.type(base)
    differences = differences.view(f"u{column.dtype.itemsize}")
    return differences.astype(np.min_scalar_type(differences.max()), copy=False), base


def _widen(
    differences: npt.NDArray[Any], base: int, values: npt.NDArray[Any], *, steps: bool
) -> None:
    """Write the integers whose differences `_narrow` returned to `values`."""
    if steps:
        np.cumsum(differences, dtype=values.dtype, out=values)
    else:
        values[:] = differences
    values += values.dtype.type(base)
