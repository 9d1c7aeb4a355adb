"""Computes canonical forms of data traces in bounded memory: Foata levels and multiset fingerprints.

A trace is a sequence up to swaps of adjacent independent items. The *level* of an item is 1 + the
highest level of the earlier items that it depends on (1 without any). Two sequences are the same
trace if and only if they have the same multiset of (level, item) pairs (Cartier and Foata 1969).
Levels order dependent items, and items of one level are independent.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.answers.foata_loops import advance, fold
from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.model.streams.stream import Columns, IntArray
from streamlab.workloads.model.streams.tag import Tag
from streamlab.workloads.model.workload import OutputType

HashArray = npt.NDArray[np.uint64]

CHUNK = 1 << 20
"""Rows per step; limits intermediate columns to some tens of MiB, whatever the size of the trace."""

MAX_DENSE_KEYS = 1 << 24
"""Largest span of keys for which per-key tables are indexed directly; at most 128 MiB per kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """Holds a dependence relation on (kind, key) as tables.

    Attributes:
        same: bool[k, k], dependence within one key; k is the number of kinds plus one (see `kinds`).
        other: bool[k, k], dependence between different keys.
        kind_field, key_field: Columns of the kind and the key, see `OutputType`.
        key_values: The keys that occur, ascending; a key's index is its place among them. None if the span
            of keys is small; a key's index is then `key - first_key`.
        first_key: Lowest key.
        n_keys: Number of key indices.
    """

    same: npt.NDArray[np.bool_]
    other: npt.NDArray[np.bool_]
    kind_field: str | None
    key_field: str | None
    key_values: IntArray | None
    first_key: int
    n_keys: int

    @classmethod
    def from_output(cls, output: OutputType, *sides: Columns) -> "Relation":
        """Return the relation of an output type for the keys in `sides`.

        Raises:
            ModelError: The relation does not treat all keys alike, so tables cannot hold it.
        """
        k = len(output.kinds)
        # An additional kind, independent of everything, represents kinds that do not exist.
        same = np.zeros((k + 1, k + 1), dtype=np.bool_)
        other = np.zeros((k + 1, k + 1), dtype=np.bool_)
        for a in range(k):
            for b in range(k):
                same[a, b] = output.depends(Tag(a, 0), Tag(b, 0))
                other[a, b] = output.depends(Tag(a, 0), Tag(b, 1))
        values, first, n_keys = None, 0, 1
        if output.key_field is not None:
            columns = [side[output.key_field] for side in sides if len(side[output.key_field])]
            if columns:
                first = min(int(column.min()) for column in columns)
                n_keys = max(int(column.max()) for column in columns) - first + 1
                if n_keys > MAX_DENSE_KEYS:
                    values = np.unique(np.concatenate([np.unique(column) for column in columns]))
                    values = values.astype(np.int64)
                    n_keys = len(values)
        relation = cls(
            same=same,
            other=other,
            kind_field=output.kind_field,
            key_field=output.key_field,
            key_values=values,
            first_key=first,
            n_keys=n_keys,
        )
        relation._check_uniform(output)
        return relation

    def _check_uniform(self, output: OutputType) -> None:
        if self.key_field is None:
            return
        some = np.unique(np.linspace(0, self.n_keys - 1, num=5).astype(np.int64))
        keys = [
            index + self.first_key if self.key_values is None else int(self.key_values[index])
            for index in some.tolist()
        ]
        for x in keys:
            for y in keys:
                table = self.same if x == y else self.other
                for a in range(len(output.kinds)):
                    for b in range(len(output.kinds)):
                        if output.depends(Tag(a, x), Tag(b, y)) != table[a, b]:
                            raise ModelError(
                                f"the output dependence of {output.kinds[a]} and "
                                f"{output.kinds[b]} differs between keys ({x}, {y}) and (0, 1); "
                                "it may depend on whether keys are equal, but not on their values"
                            )

    def kinds(self, columns: Columns) -> IntArray:
        """Return the kind index of each row; the last index for kinds that do not exist."""
        n = len(next(iter(columns.values())))
        if self.kind_field is None:
            return np.zeros(n, dtype=np.int64)
        kind = columns[self.kind_field].astype(np.int64)
        last = len(self.same) - 1
        return np.where((kind >= 0) & (kind < last), kind, last)

    def keys(self, columns: Columns) -> IntArray:
        """Return the key index of each row."""
        n = len(next(iter(columns.values())))
        if self.key_field is None:
            return np.zeros(n, dtype=np.int64)
        key = columns[self.key_field].astype(np.int64)
        if self.key_values is not None:
            return np.searchsorted(self.key_values, key)
        return key - self.first_key


def levels(columns: Columns, relation: Relation) -> Iterator[tuple[Columns, IntArray]]:
    """Yield the rows with their levels, in chunks."""
    k = len(relation.same)
    last = np.zeros((relation.n_keys, k), dtype=np.int64)
    best = np.zeros((k, 3), dtype=np.int64)
    best[:, 1] = -1
    n = len(next(iter(columns.values())))
    for begin in range(0, n, CHUNK):
        chunk = {name: column[begin : begin + CHUNK] for name, column in columns.items()}
        level = np.empty(len(next(iter(chunk.values()))), dtype=np.int64)
        kinds, keys = relation.kinds(chunk), relation.keys(chunk)
        advance(kinds, keys, relation.same, relation.other, last, best, level)
        yield chunk, level


def fingerprint(columns: Columns, relation: Relation) -> tuple[int, int]:
    """Return two 64-bit sums that are equal for equal traces.

    Different traces collide with a probability of about 2**-128, unless they were built to collide.
    """
    first = second = 0
    for chunk, level in levels(columns, relation):
        low, high = row_hashes({**chunk, "level": level})
        first = (first + int(low.sum(dtype=np.uint64))) % 2**64
        second = (second + int(high.sum(dtype=np.uint64))) % 2**64
    return first, second


def row_hashes(columns: Columns) -> tuple[HashArray, HashArray]:
    """Return two independent 64-bit hashes of each row, over all columns in order."""
    n = len(next(iter(columns.values())))
    # Different seeds keep the hashes independent; any values would do.
    low = np.full(n, 0x9E3779B97F4A7C15, dtype=np.uint64)
    high = np.full(n, 0xD1B54A32D192ED03, dtype=np.uint64)
    for column in columns.values():
        fold(low, high, bits(column))
    return low, high


def are_equal(
    left: npt.NDArray[np.generic], right: npt.NDArray[np.generic]
) -> npt.NDArray[np.bool_]:
    """Return which values are equal; NaN equals NaN."""
    equal: npt.NDArray[np.bool_] = np.equal(left, right)
    if left.dtype.kind == "f":
        equal |= np.isnan(left) & np.isnan(right)
    return equal


def bits(column: npt.NDArray[np.generic]) -> HashArray:
    """Return each value as 64 bits; equal values, and all NaNs, have equal bits."""
    if column.dtype.kind == "f":
        # Adding 0.0 makes -0.0 equal to 0.0.
        wide = column.astype(np.float64) + 0.0
        wide[np.isnan(wide)] = np.nan
        return wide.view(np.uint64)
    if column.dtype.kind in "biu":
        if column.dtype == np.uint64:
            return np.ascontiguousarray(column).view(np.uint64)
        return column.astype(np.int64).view(np.uint64)
    raise ModelError(f"outputs of type {column.dtype} cannot be compared; use numbers or booleans")
