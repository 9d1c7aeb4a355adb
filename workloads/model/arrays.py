"""Copies array fields of states, in a form that compiles quickly."""

from typing import Any


def copy(values: Any, others: Any) -> None:
    """Copy a one-dimensional array into another of equal length.

    Prefer it to `others[:] = values`, which takes longer to compile and accepts a single number.

    Raises:
        ValueError: The lengths differ.
    """
    if len(values) != len(others):
        raise ValueError("cannot copy an array into one of another length")
    others[:] = values
