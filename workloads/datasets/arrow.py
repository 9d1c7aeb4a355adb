"""Converts columns between NumPy and Arrow. Lists become Arrow's large lists, which have 64-bit offsets.

Arrow's own conversions import pandas if it is installed, which costs 0.3 s of CPU time and 50 MiB in every trial. So
this module passes buffers instead.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.model import ColumnType, ListColumn, ListType

Column = npt.NDArray[Any] | ListColumn


def arrow_type(dtype: ColumnType) -> "pa.DataType":
    """Return the Arrow type of a column. Elements of lists are declared as not null."""
    if isinstance(dtype, ListType):
        return pa.large_list(pa.field("element", pa.from_numpy_dtype(dtype.element), False))
    return pa.from_numpy_dtype(dtype)


def arrow_array(column: Column) -> "pa.Array":
    """Return a column as an Arrow array. It shares the memory of contiguous numbers; booleans are copied."""
    if not isinstance(column, ListColumn):
        return _number_array(column)
    kind = arrow_type(ListType(column.dtype))
    return pa.LargeListArray.from_arrays(
        _number_array(column.offsets), _number_array(column.values), type=kind
    )


def _number_array(values: npt.NDArray[Any]) -> "pa.Array":
    kind = pa.from_numpy_dtype(values.dtype)
    contiguous = np.ascontiguousarray(values)
    memory = _pack_bits(contiguous) if pa.types.is_boolean(kind) else pa.py_buffer(contiguous)
    return pa.Array.from_buffers(kind, len(values), [None, memory])


def array_with_nulls(values: Sequence[Any], kind: "pa.DataType") -> "pa.Array":
    """Return numbers, booleans or strings as an Arrow array; None becomes null."""
    if pa.types.is_string(kind):
        texts = [(value or "").encode() for value in values]
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
        memory = [pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    elif pa.types.is_boolean(kind):
        memory = [_pack_bits([bool(value) for value in values])]
    else:
        dtype = kind.to_pandas_dtype()  # a NumPy type; this does not import pandas
        memory = [pa.py_buffer(np.array([value or 0 for value in values], dtype=dtype))]
    valid = _pack_bits([value is not None for value in values])
    return pa.Array.from_buffers(kind, len(values), [valid, *memory])


def _pack_bits(flags: Sequence[bool] | npt.NDArray[np.bool_]) -> "pa.Buffer":
    return pa.py_buffer(np.packbits(np.asarray(flags, np.bool_), bitorder="little"))


def column_of(array: "pa.Array | pa.ChunkedArray") -> Column:
    """Return an Arrow array as a column that shares the array's memory if possible; raises `DatasetError` for nulls."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    is_list = pa.types.is_list(array.type) or pa.types.is_large_list(array.type)
    if array.null_count or (is_list and array.flatten().null_count):
        raise DatasetError(f"a column of type {array.type} holds nulls")
    if not is_list:
        return _values(array)
    return ListColumn(_values(array.offsets).astype(np.int64, copy=False), _values(array.values))


def values_of(array: "pa.Array | pa.ChunkedArray") -> npt.NDArray[Any]:
    """Return an Arrow array of single values as a column; raises `DatasetError` for nulls."""
    values = column_of(array)
    assert not isinstance(values, ListColumn), "callers read columns of single values"
    return values


def _values(array: "pa.Array") -> npt.NDArray[Any]:
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return np.from_dlpack(array)
    return np.asarray(array.to_numpy(zero_copy_only=False))


def has_hexadecimal(texts: "pa.Array") -> bool:
    """Return whether any text contains an x. Such a text may be a hexadecimal number, which Arrow would parse."""
    data = texts.buffers()[2]
    content = b"" if data is None else data.to_pybytes()
    return b"x" in content or b"X" in content
