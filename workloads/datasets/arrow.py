"""Columns between NumPy and Arrow: lists as Arrow's large lists, so that 2^31 elements are no end.

Arrow is imported where it is used: it is heavy.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from workloads.datasets.errors import DatasetError
from workloads.model import ColumnType, ListColumn, ListType

if TYPE_CHECKING:
    import pyarrow as pa

Column = npt.NDArray[Any] | ListColumn


def arrow_type(dtype: ColumnType) -> "pa.DataType":
    """Return the Arrow type of a column; neither values nor lists nor elements are ever null."""
    import pyarrow as pa

    if isinstance(dtype, ListType):
        return pa.large_list(pa.field("element", pa.from_numpy_dtype(dtype.element), False))
    return pa.from_numpy_dtype(dtype)


def arrow_array(column: Column) -> "pa.Array":
    """Return a column as an Arrow array; shares the memory of numbers."""
    import pyarrow as pa

    if not isinstance(column, ListColumn):
        return pa.array(column)
    kind = arrow_type(ListType(column.dtype))
    return pa.LargeListArray.from_arrays(
        pa.array(column.offsets), pa.array(column.values), type=kind
    )


def column_of(array: "pa.Array | pa.ChunkedArray") -> Column:
    """Return an Arrow array without nulls as a column; shares its memory where Arrow can.

    Raises:
        DatasetError: there are nulls, which columns cannot hold.
    """
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    lists = pa.types.is_list(array.type) or pa.types.is_large_list(array.type)
    if array.null_count or (lists and array.flatten().null_count):
        raise DatasetError(f"a column of type {array.type} holds nulls")
    if not lists:
        return np.asarray(array.to_numpy(zero_copy_only=False))
    offsets = array.offsets.to_numpy().astype(np.int64, copy=False)
    return ListColumn(offsets, array.values.to_numpy(zero_copy_only=False))
