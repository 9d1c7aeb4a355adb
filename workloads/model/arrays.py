"""Array fields of states: what compiled code does otherwise than NumPy."""

from typing import Any


def copy(values: Any, others: Any) -> None:
    """Copy the numbers of an array to another one, of one dimension and as long.

    As `others[:] = values`, which takes longer to compile and fills an array with a single number.

    Raises:
        ValueError: they are not of one length.
    """
    if len(values) != len(others):
        raise ValueError("an array is copied to one of another length")
    others[:] = values
