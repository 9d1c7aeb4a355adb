"""Checks in plain Python that values fit the declared types of state fields.

Compiled integers wrap at the limits of their type, while Python's grow. So that engines never silently
differ, assigning a value that the field cannot hold raises an error.
"""

from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np

from streamlab.workloads.model.errors import ProgramError

_SETTER = """\
def put(record, value):
    if type(value) is int and {low} <= value <= {high}:
        record.{slot} = value
    else:
        record.{slot} = checked_value(where, dtype, value)
"""


def slot_of(field: str) -> str:
    """Return the name of the slot that stores the value of a `checked_property`."""
    return f"_slot_{field}"


def checked_property(where: str, slot: str, dtype: np.dtype[Any]) -> property:
    """Return a property that accepts integers of a type and stores them in a slot.

    Setting it takes 0.1 us more than setting a slot. The setter is generated as source, because a
    closure over the slot's name would take another 0.1 us. `where` is the field, for messages.
    """
    low, high = _limits(dtype)
    names: dict[str, Any] = {"checked_value": checked_value, "where": where, "dtype": dtype}
    # Compile it under this file's name, so that `errors.place_of` reports the caller that set the field.
    exec(compile(_SETTER.format(slot=slot, low=low, high=high), __file__, "exec"), names)
    return property(attrgetter(slot), names["put"])


def checked_value(where: str, dtype: np.dtype[Any], value: Any) -> Any:
    """Return a value as a field holds it: a Python number, or an int for integer fields.

    Integer fields accept floats without a fraction. `where` is the field, for messages.

    Raises:
        ProgramError: The field is of integers, and the value is not an integer of its type.
    """
    number = value.item() if isinstance(value, np.generic) else value
    if dtype.kind not in "iu":
        return number
    whole = isinstance(number, int) or (isinstance(number, float) and number.is_integer())
    low, high = _limits(dtype)
    if whole and low <= number <= high:
        return int(number)
    remedy = "round it, or declare a type that has it"
    if whole:
        remedy = (
            f"compiled code would wrap it: keep it from {low} to {high}, or declare a wider type"
        )
    raise ProgramError(f"{where} is of type {dtype} and got {number!r}; {remedy}")


@cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the limits of an integer type; cached, because NumPy takes a microsecond."""
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


class StateArray(np.ndarray[Any, np.dtype[Any]]):
    """Implements an array field of a state, with Python numbers as elements and checked assignment.

    Attributes:
        where: The field, for messages.
    """

    where: str

    def __array_finalize__(self, made_of: Any) -> None:
        """Copy `where` from the array that this is a part of."""
        self.where = getattr(made_of, "where", "a state's array")

    def __getitem__(self, index: Any) -> Any:
        """Return an element as a Python number, or a part as an array."""
        part = super().__getitem__(index)
        return part.item() if isinstance(part, np.generic) else part

    def __setitem__(self, index: Any, value: Any) -> None:
        """Set elements.

        Raises:
            ProgramError: A single number does not fit the array's type.
        """
        dtype = self.dtype
        if type(value) is int and dtype.kind in "iu":
            low, high = _limits(dtype)
            if low <= value <= high:
                super().__setitem__(index, value)
                return
        if not isinstance(value, np.ndarray):
            value = checked_value(f"{self.where}[{index}]", dtype, value)
        super().__setitem__(index, value)


def zeros(where: str, dtype: np.dtype[Any]) -> StateArray:
    """Return the array of a field, filled with zeros."""
    assert dtype.subdtype is not None
    base, shape = dtype.subdtype
    array = np.zeros(shape, dtype=base).view(StateArray)
    array.where = where
    return array
