"""Converts the pairs between vertices of a typed dataflow graph to Arrow tables and back.

A row is a pair: its destination vertex, its key, and a column for each field that any vertex reads. Fields that the
destination does not read are 0. While a group sorts its input, markers are also rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamlab.engines.spark.generic.tables import output_table
from streamlab.workloads.datasets.arrow import column_of
from streamlab.workloads.model.dataflow import TraceType
from streamlab.workloads.model.streams.records import record_type
from streamlab.workloads.model.streams.stream import IntArray

VERTEX = "pair vertex"
KEY = "pair key"
"""The column with a pair's key, or with a marker's time."""

OUT = -1
"""The destination of pairs that belong to the answer."""
MARKER = -2
"""The destination of markers, which go to all vertices."""

Pair = tuple[int, int, Any]
"""A vertex, a key, and a value: a tuple of the fields that the vertex reads."""


@dataclass(frozen=True)
class Items:
    """Converts pairs to tables and back. `types` has the type that each destination vertex reads."""

    types: Mapping[int, TraceType]

    @cached_property
    def _columns(self) -> dict[str, np.dtype[Any]]:
        return {
            _column(type_, field): type_.value[field]
            for type_ in self.types.values()
            for field in type_.fields
        }

    def table(self, pairs: Sequence[Pair], places: Sequence[IntArray]) -> pa.Table:
        """Return pairs as a table; `places` are the columns of their places."""
        vertex = np.array([pair[0] for pair in pairs], dtype=np.int64)
        key = np.array([pair[1] for pair in pairs], dtype=np.int64)
        columns = self._zeros(len(pairs))
        for index, type_ in self.types.items():
            rows = np.flatnonzero(vertex == index)
            values = zip(*(pairs[row][2] for row in rows.tolist()), strict=True)
            for field, column in zip(type_.fields, values, strict=False):
                columns[_column(type_, field)][rows] = np.array(column, dtype=type_.value[field])
        return output_table({VERTEX: vertex, KEY: key, **columns}, places)

    def markers(self, times: IntArray, places: Sequence[IntArray]) -> pa.Table:
        """Return markers as rows of a table of pairs."""
        vertex = np.full_like(times, MARKER)
        return output_table({VERTEX: vertex, KEY: times, **self._zeros(len(times))}, places)

    def pairs(self, table: pa.Table) -> list[Pair]:
        """Return the pairs and markers of a table, in its order; a marker has no value."""
        vertex, key = table[VERTEX].to_numpy(), table[KEY].to_numpy().tolist()
        pairs: list[Pair] = [(MARKER, ts, None) for ts in key]
        columns = {name: np.asarray(column_of(table[name])) for name in self._columns}
        for index, type_ in self.types.items():
            rows = np.flatnonzero(vertex == index)
            fields = (columns[_column(type_, name)][rows].tolist() for name in type_.fields)
            values = zip(*fields, strict=True)
            make = record_type(type_.fields[1:])._make
            for row, value in zip(rows.tolist(), map(make, values), strict=True):
                pairs[row] = (index, key[row], value)
        return pairs

    def _zeros(self, rows: int) -> dict[str, npt.NDArray[Any]]:
        return {name: np.zeros(rows, dtype) for name, dtype in self._columns.items()}


def _column(type_: TraceType, field: str) -> str:
    """Return the column name of a field; fields of equal name and type share a column."""
    return f"{field} {type_.value[field].str}"
