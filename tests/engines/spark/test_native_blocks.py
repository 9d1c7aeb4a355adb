"""Blocks of variant native return the columns that they were packed from."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays, integer_dtypes, unsigned_integer_dtypes

from streamlab.engines.spark.native.blocks import pack_block, unpack_blocks
from streamlab.workloads.model import ListColumn


@st.composite
def columns(draw):
    """Return rows with a column of each sort."""
    lists = draw(st.lists(st.lists(st.integers(0, 9), max_size=2), min_size=1, max_size=9))
    rows = len(lists)
    dtype = draw(integer_dtypes(endianness="<") | unsigned_integer_dtypes(endianness="<"))
    return {
        "ts": draw(arrays(np.int64, rows)),
        "number": draw(arrays(dtype, rows)),
        "real": draw(arrays(np.float32, rows)),
        "flag": draw(arrays(np.bool_, rows)),
        "list": ListColumn.of(lists, np.int32),
    }


@given(columns(), st.integers(1, 9))
def test_a_block_and_several_give_the_same_columns(packed, size):
    rows = len(packed["ts"])
    cuts = [slice(begin, begin + size) for begin in range(0, rows, size)]
    blocks = [pack_block({name: c[rows] for name, c in packed.items()}) for rows in cuts]
    found = unpack_blocks([pa.py_buffer(block) for block in blocks])
    assert list(found) == list(packed)
    for name, column in packed.items():
        assert found[name].dtype == column.dtype
        if isinstance(column, ListColumn):
            assert np.array_equal(found[name].offsets, column.offsets)
            assert np.array_equal(found[name].values, column.values)
        else:
            assert found[name].tobytes() == column.tobytes()


def test_rows_in_order_take_few_bytes():
    rows = 1 << 16
    ts = np.int64(1) << 40 | np.arange(0, 100 * rows, 100)
    packed = pack_block({"ts": ts, "tag": np.arange(rows, dtype=np.int32) % 32})
    assert len(packed) < 2.1 * rows
