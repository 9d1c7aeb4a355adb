"""Converts a program's events and outputs to Arrow tables and back.

A table has columns for the place of each record in the order of records, and the fields that a program reads or writes.
The first place column is the event time. Names of columns other than fields contain a space, so that they differ from
all fields.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamlab.workloads.datasets.arrow import Column, arrow_array, arrow_type, column_of
from streamlab.workloads.model import (
    Alphabet,
    Columns,
    ColumnType,
    ListColumn,
    ListType,
    Program,
    fields_read,
)
from streamlab.workloads.model.streams.stream import IntArray
from streamlab.workloads.model.streams.total_order import MergedInput

TAG = "event tag"
ROW = "event row"
"""The column of an event's row number in its stream; the files have it too."""


def place_names(columns: int) -> list[str]:
    """Return the names of the place columns."""
    return [f"place {index}" for index in range(columns)]


def stream_table(
    program: Program, kinds: tuple[int, ...], src: int, columns: Mapping[str, pa.Array]
) -> pa.Table:
    """Return rows of stream `src`, which carries `kinds`, as a program's events.

    `columns` are `ts`, ROW, optionally `tag`, and fields. Missing fields become 0, or an empty list.
    """
    rows = len(columns["ts"])
    table: dict[str, Column] = {
        "place 0": _numbers(columns["ts"], np.dtype(np.int64)),
        "place 1": np.full(rows, src, dtype=np.int64),
        "place 2": _numbers(columns[ROW], np.dtype(np.int64)),
        TAG: np.full(rows, kinds[0], dtype=np.int64),
    }
    if "tag" in columns:
        table[TAG] = _numbers(columns["tag"], np.dtype(np.int64))
    for name, dtype in fields_read(program).items():
        if name in columns:
            table[name] = _column(columns[name], dtype)
        elif isinstance(dtype, ListType):
            table[name] = ListColumn.of([[]] * rows, dtype.element)
        else:
            table[name] = np.zeros(rows, dtype=dtype)
    return _table(table)


def events(program: Program, alphabet: Alphabet, table: pa.Table) -> Iterator[Any]:
    """Yield the records of a table, in the table's order, as a program's events."""
    ts = table["place 0"].to_numpy()
    tag = table[TAG].to_numpy() if TAG in table.column_names else np.zeros(len(ts), np.int64)
    kinds = len(alphabet.kinds)
    columns: Columns = {"ts": ts, "kind": tag % kinds, "key": tag // kinds}
    lists: dict[str, ListColumn] = {}
    for name in fields_read(program):
        column = column_of(table[name])
        if isinstance(column, ListColumn):
            lists[name] = column
        else:
            columns[name] = column
    no_streams = np.zeros(0, dtype=np.int64)
    order = np.arange(len(ts))
    merged = MergedInput(columns=columns, lists=lists, stream=no_streams, order=order)
    return merged.events(program)


def output_table(columns: Columns, places: Sequence[IntArray]) -> pa.Table:
    """Return a program's outputs as a table; `places` are the place columns."""
    return _table({**dict(zip(place_names(len(places)), places, strict=True)), **columns})


class Counter:
    """Counts the outputs of each record, which the program appends to `rows`."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = rows
        self._marks: list[int] = [0]

    def mark(self) -> None:
        """Mark the end of a record's outputs."""
        self._marks.append(len(self._rows))

    def places(self, table: pa.Table, places: int) -> list[IntArray]:
        """Return the places of all outputs: the place of the causing record, then the number of the output."""
        marks = np.array(self._marks, dtype=np.int64)
        counts = marks[1:] - marks[:-1]
        cause = np.repeat(np.arange(len(counts)), counts)
        number = np.arange(len(cause)) - np.repeat(np.cumsum(counts) - counts, counts)
        return [*(table[name].to_numpy()[cause] for name in place_names(places)), number]


def sort_by_place(tables: Sequence[pa.Table], places: int) -> pa.Table:
    """Concatenate tables (at least one), and sort by place."""
    rows = pa.concat_tables(tables)
    keys = [rows[name].to_numpy() for name in reversed(place_names(places))]
    return rows.take(np.lexsort(keys))


def pack(table: pa.Table) -> bytes:
    """Return a table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpack(data: bytes) -> pa.Table:
    """Return the table that `pack` serialised."""
    return pa.ipc.open_stream(data).read_all()


def _table(columns: Mapping[str, Column]) -> pa.Table:
    # Columns of equal name need equal types, so that tables can be concatenated.
    arrays = [arrow_array(column) for column in columns.values()]
    types = [
        arrow_type(ListType(column.dtype)) if isinstance(column, ListColumn) else array.type
        for column, array in zip(columns.values(), arrays, strict=True)
    ]
    schema = pa.schema(list(zip(columns, types, strict=True)))
    return pa.Table.from_arrays(arrays, schema=schema)


def _numbers(array: pa.Array, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=dtype)


def _column(array: pa.Array, dtype: ColumnType) -> Column:
    if not isinstance(dtype, ListType):
        return _numbers(array, dtype)
    column = column_of(array)
    assert isinstance(column, ListColumn)
    packed = column.packed()
    return ListColumn(packed.offsets, packed.values.astype(dtype.element, copy=False))
