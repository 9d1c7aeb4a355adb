"""Pairs on their way between the vertices of a typed dataflow graph, as Arrow tables.

A row is a pair: which vertex it is for, its key, and a column for each field of what any of the
vertices reads; those of other vertices are 0. Markers are rows, too, while a group puts them in
their places.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamlab.engines.spark.generic.tables import followed
from streamlab.workloads.datasets.arrow import column_of
from streamlab.workloads.model.dataflow import TraceType
from streamlab.workloads.model.streams.records import record_type
from streamlab.workloads.model.streams.stream import IntArray

VERTEX = "its vertex"
KEY = "its key"
"""Of a marker: its time."""

OUT = -1
"""Stands for the vertex that a pair of the answer is for."""
MARKER = -2
"""Stands for the vertex that a marker is for: all."""

Pair = tuple[int, int, Any]
"""A vertex, a key, and a value: a tuple of the fields of what the vertex reads."""


@dataclass(frozen=True)
class Items:
    """Makes tables of pairs, and pairs of tables.

    Attributes:
        types: what each vertex reads that a pair may be for.
    """

    types: Mapping[int, TraceType]

    @cached_property
    def _columns(self) -> dict[str, np.dtype[Any]]:
        return {
            _column(of, field): of.value[field] for of in self.types.values() for field in of.fields
        }

    def table(self, pairs: Sequence[Pair], places: Sequence[IntArray]) -> pa.Table:
        """Return pairs as a table; `places` has the values of the place's columns."""
        vertex = np.array([pair[0] for pair in pairs], dtype=np.int64)
        key = np.array([pair[1] for pair in pairs], dtype=np.int64)
        columns = self._zeros(len(pairs))
        for index, of in self.types.items():
            at = np.flatnonzero(vertex == index)
            values = zip(*(pairs[row][2] for row in at.tolist()), strict=True)
            for field, given in zip(of.fields, values, strict=False):
                columns[_column(of, field)][at] = np.array(given, dtype=of.value[field])
        return followed({VERTEX: vertex, KEY: key, **columns}, places)

    def markers(self, times: IntArray, places: Sequence[IntArray]) -> pa.Table:
        """Return markers as rows of such a table."""
        vertex = np.full_like(times, MARKER)
        return followed({VERTEX: vertex, KEY: times, **self._zeros(len(times))}, places)

    def pairs(self, table: pa.Table) -> list[Pair]:
        """Return the pairs, and markers, of a table in its order; a marker has no value."""
        vertex, key = table[VERTEX].to_numpy(), table[KEY].to_numpy().tolist()
        found: list[Pair] = [(MARKER, ts, None) for ts in key]
        columns = {name: np.asarray(column_of(table[name])) for name in self._columns}
        for index, of in self.types.items():
            at = np.flatnonzero(vertex == index)
            fields = (columns[_column(of, name)][at].tolist() for name in of.fields)
            values = zip(*fields, strict=True)
            make = record_type(of.fields[1:])._make
            for row, value in zip(at.tolist(), map(make, values), strict=True):
                found[row] = (index, key[row], value)
        return found

    def _zeros(self, rows: int) -> dict[str, npt.NDArray[Any]]:
        return {name: np.zeros(rows, dtype) for name, dtype in self._columns.items()}


def _column(of: TraceType, field: str) -> str:
    """Return the column of a field: fields of one name and type share it."""
    return f"{field} {of.value[field].str}"
