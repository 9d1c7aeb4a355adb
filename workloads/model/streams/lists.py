"""Columns of lists: text of a stream as dictionary ids, a varying number per event."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.errors import ModelError

PREFIX = "list:"
"""How the type of a list column is written where dtypes are strings: `list:int32`."""


@dataclass(frozen=True, slots=True)
class ListType:
    """Type of a list column: stands where scalar columns have a dtype."""

    element: np.dtype[Any]

    @property
    def name(self) -> str:
        """The type in words, `list:int32`; `column_type` reads it."""
        return PREFIX + self.element.name


ColumnType = np.dtype[Any] | ListType


def column_type(name: str) -> ColumnType:
    """Return the type of a column from its name: `int64`, `list:int32`."""
    if name.startswith(PREFIX):
        return ListType(np.dtype(name.removeprefix(PREFIX)))
    return np.dtype(name)


def type_of(column: "npt.NDArray[Any] | ListColumn") -> ColumnType:
    """Return the type of a column."""
    return ListType(column.dtype) if isinstance(column, ListColumn) else column.dtype


@dataclass(frozen=True, slots=True)
class ListColumn:
    """n lists in two arrays: list i is `values[offsets[i]:offsets[i + 1]]`.

    Attributes:
        offsets: int64[n + 1], non-decreasing.
        values: the elements of all lists, one after another; may hold more before and behind.

    Raises:
        ModelError: offsets of another type, decreasing, or past the values.
    """

    offsets: npt.NDArray[np.int64]
    values: npt.NDArray[Any]

    def __post_init__(self) -> None:
        if self.offsets.dtype != np.int64 or len(self.offsets) < 1:
            raise ModelError("a list column needs int64 offsets, one more than it has lists")
        if self.offsets[0] < 0 or self.offsets[-1] > len(self.values):
            raise ModelError(
                f"list offsets run from {self.offsets[0]} to {self.offsets[-1]}, "
                f"there are {len(self.values)} values"
            )
        if np.any(np.diff(self.offsets) < 0):
            raise ModelError("list offsets decrease")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: slice) -> "ListColumn":
        """Return consecutive lists; shares the values."""
        begin, end, step = rows.indices(len(self))
        if step != 1:
            raise ModelError("a list column is cut into consecutive lists only")
        return ListColumn(self.offsets[begin : max(begin, end) + 1], self.values)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self.values.dtype

    @property
    def type_name(self) -> str:
        """The column's type in words, `list:int32`."""
        return PREFIX + self.values.dtype.name

    def take(self, rows: npt.NDArray[np.integer[Any]]) -> "ListColumn":
        """Return the lists of the given rows, in that order."""
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        source = np.repeat(self.offsets[:-1][rows] - offsets[:-1], lengths)
        return ListColumn(offsets, self.values[source + np.arange(offsets[-1])])

    def rows(self) -> Iterator[list[Any]]:
        """Yield each list as plain Python values."""
        for begin, end in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            yield self.values[begin:end].tolist()

    def packed(self) -> "ListColumn":
        """Return the same lists with offsets from 0 and no other values."""
        begin, end = int(self.offsets[0]), int(self.offsets[-1])
        if begin == 0 and end == len(self.values):
            return self
        return ListColumn(self.offsets - begin, self.values[begin:end])

    @staticmethod
    def concatenate(
        parts: "Sequence[ListColumn]", dtype: npt.DTypeLike | None = None
    ) -> "ListColumn":
        """Return the lists of all parts, one part after another; copies.

        Args:
            parts: at least one, unless `dtype` is given.
            dtype: of the elements; None: that of the parts.
        """
        if not parts:
            return ListColumn.of([], np.dtype(dtype))
        lengths = [np.diff(part.offsets) for part in parts]
        offsets = np.zeros(1 + sum(map(len, lengths)), dtype=np.int64)
        np.cumsum(np.concatenate(lengths), out=offsets[1:])
        values = np.concatenate([part.packed().values for part in parts])
        return ListColumn(offsets, values.astype(dtype or values.dtype, copy=False))

    @staticmethod
    def of(lists: list[list[Any]], dtype: npt.DTypeLike) -> "ListColumn":
        """Return a column of the given lists."""
        offsets = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(part) for part in lists], out=offsets[1:])
        values = np.array([value for part in lists for value in part], dtype=dtype)
        return ListColumn(offsets, values)
