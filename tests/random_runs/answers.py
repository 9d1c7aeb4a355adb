"""When an answer is right: as a data trace, as a sorted set of rows, or row by row."""

from collections.abc import Callable

import numpy as np

from streamlab.workloads.model import Columns, OutputType
from streamlab.workloads.model.answers.trace import compare

Same = Callable[[Columns, Columns], None]
"""Raises AssertionError when an answer (the second) is not the right one (the first)."""


def trace(output: OutputType) -> Same:
    """Compare as the lab does."""

    def same(wanted: Columns, got: Columns) -> None:
        difference = compare(wanted, got, output)
        assert difference.equal, difference.render()

    return same


def rows_in_time_order(wanted: Columns, got: Columns) -> None:
    """Ties may be in any order."""
    _same_types(wanted, got)
    assert (np.diff(got["ts"]) >= 0).all(), "not in order of time"
    missing, extra = _rows(wanted), _rows(got)
    if missing != extra:
        common = set(missing) & set(extra)
        raise AssertionError(
            f"{len(missing)} rows wanted, {len(extra)} got; wanted "
            f"{[row for row in missing if row not in common][:5]}, got "
            f"{[row for row in extra if row not in common][:5]}"
        )


def sequence(wanted: Columns, got: Columns) -> None:
    """Row by row."""
    _same_types(wanted, got)
    for name, column in wanted.items():
        np.testing.assert_array_equal(got[name], column, err_msg=name)


def _same_types(wanted: Columns, got: Columns) -> None:
    assert {n: c.dtype for n, c in got.items()} == {n: c.dtype for n, c in wanted.items()}


def _rows(columns: Columns) -> list[tuple[object, ...]]:
    return sorted(zip(*(column.tolist() for column in columns.values()), strict=True))
