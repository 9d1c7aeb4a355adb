"""Columns to Arrow and back, without pandas, which Arrow's own conversions import."""

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamlab.workloads.datasets.arrow import array_with_nulls, arrow_array, column_of
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.model import ListColumn

TYPES = ["int8", "int32", "int64", "uint8", "uint64", "float32", "float64", "bool"]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("rows", [0, 1, 9])
def test_a_column_is_the_array_that_arrow_makes_and_comes_back(dtype: str, rows: int):
    column = np.arange(rows).astype(dtype)
    array = arrow_array(column)
    array.validate(full=True)
    assert array.equals(pa.array(column))
    back = column_of(array)
    assert back.dtype == column.dtype and np.array_equal(back, column)


@pytest.mark.parametrize("dtype", TYPES)
def test_every_second_value_and_a_slice_are_values_too(dtype: str):
    column = np.arange(20).astype(dtype)
    assert arrow_array(column[::2]).equals(pa.array(column[::2]))
    assert np.array_equal(column_of(arrow_array(column)[3:11]), column[3:11])
    parts = pa.chunked_array([arrow_array(column[:5]), arrow_array(column[5:])])
    assert np.array_equal(column_of(parts), column)


def test_lists_and_slices_of_them_come_back():
    lists = ListColumn.of([[1, 2], [], [3], [4, 5, 6]], np.int32)
    array = arrow_array(lists)
    array.validate(full=True)
    assert array.to_pylist() == [[1, 2], [], [3], [4, 5, 6]]
    back = column_of(array[1:])
    assert isinstance(back, ListColumn)
    assert back.packed().offsets.tolist() == [0, 0, 1, 4]
    assert back.packed().values.tolist() == [3, 4, 5, 6]


@pytest.mark.parametrize("array", [[1, None], [[1], None], [[1, None]]])
def test_nulls_are_refused(array: list[Any]):
    with pytest.raises(DatasetError, match="holds nulls"):
        column_of(pa.array(array))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([3, None, -1], pa.int64()),
        ([0.5, None, float("inf")], pa.float64()),
        ([True, None, False] * 5, pa.bool_()),
        (["run", "", None, "é"], pa.string()),
        ([], pa.string()),
        ([], pa.bool_()),
        ([None], pa.int64()),
    ],
)
def test_values_with_nulls_are_the_array_that_arrow_makes(values: list[Any], kind: pa.DataType):
    array = array_with_nulls(values, kind)
    array.validate(full=True)
    assert array.equals(pa.array(values, kind))


def test_pandas_is_not_imported():
    script = (
        "import sys\nimport numpy as np\nimport pyarrow as pa\n"
        "from streamlab.workloads.datasets.arrow import array_with_nulls, arrow_array, column_of\n"
        "column_of(arrow_array(np.arange(3)))\n"
        "array_with_nulls([1, None], pa.int64())\n"
        "array_with_nulls(['run', None], pa.string())\n"
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
