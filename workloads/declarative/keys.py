"""Packs the columns of a key into one int64, which is the key of a program, and unpacks them.

The columns share the 64 bits evenly, but a column with a small type gets only the bits of that type. A value beyond
its share ends the run with a message, so that different values have different keys. Keys are ordered like the values
of their columns.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streamlab.workloads.declarative.declaration import Column
from streamlab.workloads.declarative.expressions import BOOL
from streamlab.workloads.model.code.generated import define

_BITS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The columns of a key. Each combination of their values has its own state.

    Attributes:
        columns: the columns; empty if all rows share one state.
    """

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def function(self) -> Callable[[Any], int]:
        """Return the function (f_SK) that maps a row `t` to its key: its columns as one number; 0 without columns."""
        if len(self.columns) < 2:
            return define(
                "key", "t", [f"return {self.row_expressions('t')[0] if self.columns else 0}"], {}
            )
        lines: list[str] = []
        parts: list[str] = []
        shift = _BITS
        for column, width in zip(self.columns, self._widths(), strict=True):
            half, value = 1 << (width - 1), f"int(t.{column.name})"
            if width < _width(column):
                lines += [
                    f"if not -{half} <= t.{column.name} < {half}:",
                    f"    raise ValueError({self._overflow_message(column, half)!r})",
                ]
            shift -= width
            # The first column has the sign; other values are counted from their column's smallest value.
            parts.append(f"({value if not parts else f'({value} + {half})'} << {shift})")
        return define("key", "t", [*lines, f"return {' + '.join(parts)}"], {})

    def row_expressions(self, row: str) -> list[str]:
        """Return the columns as expressions over a row."""
        return [f"{row}.{name}" for name in self.names]

    def state_expressions(self, state: str) -> list[str]:
        """Return the columns as expressions over a state with a `key`."""
        if len(self.columns) < 2:
            return [f"{state}.key" for _ in self.columns]
        parts: list[str] = []
        shift = _BITS
        for width in self._widths():
            shift -= width
            part = f"{state}.key >> {shift}"
            half = 1 << (width - 1)
            parts.append(f"({part} & {2 * half - 1}) - {half}" if parts else f"({part})")
        return parts

    def _overflow_message(self, column: Column, half: int) -> str:
        remedy = (
            f"declare it a text (types={{{column.name!r}: str}}), which has a small number"
            if column.dictionary is None
            else "give fewer columns"
        )
        return (
            f"key {list(self.names)}: {column.name} has a value beyond {-half} to {half - 1}, its share of the "
            f"{_BITS} bits of {len(self.columns)} columns; {remedy}"
        )

    def _widths(self) -> list[int]:
        """Return the bits of each column."""
        widths = [0] * len(self.columns)
        left = _BITS
        order = sorted(range(len(widths)), key=lambda n: _width(self.columns[n]))
        for index, number in enumerate(order):
            widths[number] = min(_width(self.columns[number]), left // (len(order) - index))
            left -= widths[number]
        return widths


def _width(column: Column) -> int:
    """Return the number of bits that a column's type needs."""
    return 2 if column.dtype == BOOL else 8 * column.dtype.itemsize
