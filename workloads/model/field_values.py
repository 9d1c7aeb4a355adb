"""What fields of a state hold in plain Python: values of the types that were declared for them.

Compiled integers wrap when they leave their type, Python's grow. So that an engine that compiles
a program and one that does not never differ without a word, a value that its field cannot hold is
an error here, where the function gives it to the field.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from workloads.model.errors import ProgramError

Range = tuple[float, float]
"""The lowest and the highest integer that a field takes as it is; empty where it takes none."""

NONE: Range = (math.inf, -math.inf)
ANY: Range = (-math.inf, math.inf)


def range_of(dtype: np.dtype[Any]) -> Range:
    """Return the range of a field of one integer; of other fields none, of which `held` decides."""
    if dtype.kind not in "iu":
        return NONE
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def held(where: str, dtype: np.dtype[Any], value: Any) -> Any:
    """Return a value as a field holds it: a Python number, of a whole field an integer.

    Args:
        where: which field, for messages.
        dtype: its declared type.
        value: what a function gave it; what has no fraction may be a float.

    Raises:
        ProgramError: the field is of integers, and the value is none of them.
    """
    given = value.item() if isinstance(value, np.generic) else value
    if dtype.kind not in "iu":
        return given
    whole = isinstance(given, int) or (isinstance(given, float) and given.is_integer())
    low, high = range_of(dtype)
    if whole and low <= given <= high:
        return int(given)
    remedy = "round it, or declare a type that has it"
    if whole:
        remedy = (
            f"compiled code would wrap it: keep it from {low} to {high}, or declare a wider type"
        )
    raise ProgramError(f"{where} is of type {dtype} and was given {given!r}; {remedy}")


class StateArray(npt.NDArray[Any]):
    """An array field of a state: its elements are Python numbers, and keep to its type.

    Attributes:
        where: which field, for messages.
    """

    where: str

    def __array_finalize__(self, made_of: Any) -> None:
        """Take the name over from the array that this is a part of."""
        self.where = getattr(made_of, "where", "a state's array")

    def __getitem__(self, index: Any) -> Any:
        """Return an element as a Python number, or a part as an array."""
        found = super().__getitem__(index)
        return found.item() if isinstance(found, np.generic) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        """Set elements; one number must be of the array's type.

        Raises:
            ProgramError: it is not.
        """
        if not isinstance(value, np.ndarray):
            value = held(f"{self.where}[{index}]", self.dtype, value)
        super().__setitem__(index, value)


def zeros(where: str, dtype: np.dtype[Any]) -> StateArray:
    """Return the array of a field, of zeros."""
    assert dtype.subdtype is not None
    base, shape = dtype.subdtype
    made = np.zeros(shape, dtype=base).view(StateArray)
    made.where = where
    return made
