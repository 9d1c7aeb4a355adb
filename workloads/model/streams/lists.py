"""Defines list columns: each event has a list of any length, such as a text's words as dictionary ids."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.errors import ModelError

PREFIX = "list:"
"""Prefix of a list column's type where dtypes are strings: `list:int32`."""


@dataclass(frozen=True, slots=True)
class ListType:
    """Describes the type of a list column, as a dtype does for scalar columns."""

    element: np.dtype[Any]

    @property
    def name(self) -> str:
        """The name of the type, such as `list:int32`; `column_type` parses it."""
        return PREFIX + self.element.name


ColumnType = np.dtype[Any] | ListType


def column_type(name: str) -> ColumnType:
    """Return the column type with a name such as `int64` or `list:int32`."""
    if name.startswith(PREFIX):
        return ListType(np.dtype(name.removeprefix(PREFIX)))
    return np.dtype(name)


def type_of(column: "npt.NDArray[Any] | ListColumn") -> ColumnType:
    """Return the type of a column."""
    return ListType(column.dtype) if isinstance(column, ListColumn) else column.dtype


@dataclass(frozen=True, slots=True)
class ListColumn:
    """Holds n lists in two arrays: list i is `values[offsets[i]:offsets[i + 1]]`.

    Attributes:
        offsets: int64[n + 1], non-decreasing.
        values: The elements of all lists, one after another; may have more elements before and after.

    Raises:
        ModelError: Offsets have another type, decrease, or exceed the values.
    """

    offsets: npt.NDArray[np.int64]
    values: npt.NDArray[Any]

    def __post_init__(self) -> None:
        if self.offsets.dtype != np.int64 or len(self.offsets) < 1:
            raise ModelError(
                f"a list column has {len(self.offsets)} offsets of type {self.offsets.dtype}; "
                "expected int64 offsets, one more than lists"
            )
        if self.offsets[0] < 0 or self.offsets[-1] > len(self.values):
            raise ModelError(
                f"list offsets run from {self.offsets[0]} to {self.offsets[-1]}; "
                f"expected at most {len(self.values)}, the number of values, and none below 0"
            )
        if np.any(np.diff(self.offsets) < 0):
            raise ModelError("list offsets decrease; they must be in ascending order")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: slice) -> "ListColumn":
        """Return consecutive lists; shares the values."""
        begin, end, step = rows.indices(len(self))
        if step != 1:
            raise ModelError(f"a list column was sliced with step {step}; expected step 1")
        return ListColumn(self.offsets[begin : max(begin, end) + 1], self.values)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self.values.dtype

    def take(self, rows: npt.NDArray[np.integer[Any]]) -> "ListColumn":
        """Return the lists of `rows`, in that order."""
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
        """Return the same lists with offsets from 0 and without unused values."""
        begin, end = int(self.offsets[0]), int(self.offsets[-1])
        if begin == 0 and end == len(self.values):
            return self
        return ListColumn(self.offsets - begin, self.values[begin:end])

    @staticmethod
    def concatenate(
        parts: "Sequence[ListColumn]", dtype: npt.DTypeLike | None = None
    ) -> "ListColumn":
        """Return a copy of the lists of all parts; `dtype` is the type of the elements, None keeps it."""
        if not parts:
            return ListColumn.of([], np.dtype(dtype))
        lengths = [np.diff(part.offsets) for part in parts]
        offsets = np.zeros(1 + sum(map(len, lengths)), dtype=np.int64)
        np.cumsum(np.concatenate(lengths), out=offsets[1:])
        values = np.concatenate([part.packed().values for part in parts])
        return ListColumn(offsets, values.astype(dtype or values.dtype, copy=False))

    @staticmethod
    def of(lists: list[list[Any]], dtype: npt.DTypeLike) -> "ListColumn":
        """Return a column of `lists`."""
        offsets = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(part) for part in lists], out=offsets[1:])
        values = np.array([value for part in lists for value in part], dtype=dtype)
        return ListColumn(offsets, values)
