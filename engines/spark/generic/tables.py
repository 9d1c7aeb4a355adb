"""Records of a program as Arrow tables, and the events and outputs of programs in them.

A table has the columns of the record's place, by which it is put in order, and those that a program
reads or writes. The first of the place is always the record's event time. Names that are not the
program's own have a space in them, as no field of a program has.
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
from streamlab.workloads.model.streams.total_order import Merged

TAG = "its tag"
ROW = "its row"
"""Of an event: its place in its stream; a column of the files, too."""


def place(columns: int) -> list[str]:
    """Return the names of the columns of a place."""
    return [f"place {index}" for index in range(columns)]


def of_stream(
    program: Program, kinds: tuple[int, ...], src: int, columns: Mapping[str, pa.Array]
) -> pa.Table:
    """Return rows of a stream as a program's events.

    Args:
        program: what reads them.
        kinds: of the stream.
        src: its number.
        columns: `ts`, ROW, perhaps `tag`, and fields. What is not there reads as 0, or as an empty
            list.
    """
    rows = len(columns["ts"])
    made: dict[str, Column] = {
        "place 0": _numbers(columns["ts"], np.dtype(np.int64)),
        "place 1": np.full(rows, src, dtype=np.int64),
        "place 2": _numbers(columns[ROW], np.dtype(np.int64)),
        TAG: np.full(rows, kinds[0], dtype=np.int64),
    }
    if "tag" in columns:
        made[TAG] = _numbers(columns["tag"], np.dtype(np.int64))
    for name, dtype in fields_read(program).items():
        if name in columns:
            made[name] = _column(columns[name], dtype)
        elif isinstance(dtype, ListType):
            made[name] = ListColumn.of([[]] * rows, dtype.element)
        else:
            made[name] = np.zeros(rows, dtype=dtype)
    return _table(made)


def events(program: Program, alphabet: Alphabet, table: pa.Table) -> Iterator[Any]:
    """Yield the records of a table, in its order, as a program sees them."""
    ts = table["place 0"].to_numpy()
    tag = table[TAG].to_numpy() if TAG in table.column_names else np.zeros(len(ts), np.int64)
    kinds = len(alphabet.kinds)
    columns: Columns = {"ts": ts, "kind": tag % kinds, "key": tag // kinds}
    lists: dict[str, ListColumn] = {}
    for name in fields_read(program):
        found = column_of(table[name])
        if isinstance(found, ListColumn):
            lists[name] = found
        else:
            columns[name] = found
    none = np.zeros(0, dtype=np.int64)
    order = np.arange(len(ts))
    return Merged(columns=columns, lists=lists, stream=none, order=order).events(program)


def followed(columns: Columns, places: Sequence[IntArray]) -> pa.Table:
    """Return what a program put out as a table; `places` has the values of the place's columns."""
    return _table({**dict(zip(place(len(places)), places, strict=True)), **columns})


def behind(table: pa.Table, places: int, counts: IntArray) -> list[IntArray]:
    """Return the places of what followed from the records of a table, `counts` from each."""
    of = np.repeat(np.arange(len(counts)), counts)
    nth = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    return [*(table[name].to_numpy()[of] for name in place(places)), nth]


class Counter:
    """Counts what follows from each record."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = rows
        self._marks: list[int] = [0]

    def note(self) -> None:
        """End the outputs of a record."""
        self._marks.append(len(self._rows))

    def behind(self, table: pa.Table, places: int) -> list[Any]:
        """Return the places of all outputs."""
        marks = np.array(self._marks, dtype=np.int64)
        return behind(table, places, marks[1:] - marks[:-1])


def in_order(tables: Sequence[pa.Table], places: int) -> pa.Table:
    """Return tables as one, put in order by place; at least one is given."""
    whole = pa.concat_tables(tables)
    keys = [whole[name].to_numpy() for name in reversed(place(places))]
    return whole.take(np.lexsort(keys))


def packed(table: pa.Table) -> bytes:
    """Return a table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpacked(data: bytes) -> pa.Table:
    """Return the table that `packed` made bytes of."""
    return pa.ipc.open_stream(data).read_all()


def _table(columns: Mapping[str, Column]) -> pa.Table:
    # Whatever wrote a column, it has one type, so that tables can be put together.
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
    found = column_of(array)
    assert isinstance(found, ListColumn)
    packed_ = found.packed()
    return ListColumn(packed_.offsets, packed_.values.astype(dtype.element, copy=False))
