"""What fields of a state hold in plain Python: values of the types that were declared for them.

Compiled integers wrap when they leave their type, Python's grow. So that an engine that compiles
a program and one that does not never differ without a word, a value that its field cannot hold is
an error here, where the function gives it to the field.
"""

from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.errors import ProgramError

_SETTER = """\
def put(record, value):
    if type(value) is int and {low} <= value <= {high}:
        record.{slot} = value
    else:
        record.{slot} = held(where, dtype, value)
"""


def slot_of(field: str) -> str:
    """Return where a record keeps what is behind a field of `keeping`."""
    return f"_kept_{field}"


def keeping(where: str, slot: str, dtype: np.dtype[Any]) -> property:
    """Return an attribute that takes integers of a type, and keeps them in a slot.

    Setting it takes 0.1 us more than a slot. It is written as source, since to name the slot in
    a closure takes as long again.

    Args:
        where: which field, for messages.
        slot: the attribute behind it.
        dtype: its declared type.
    """
    low, high = _limits(dtype)
    names: dict[str, Any] = {"held": held, "where": where, "dtype": dtype}
    # As of this file, so that a mistake is blamed on who set the field: `errors.place_of`.
    exec(compile(_SETTER.format(slot=slot, low=low, high=high), __file__, "exec"), names)
    return property(attrgetter(slot), names["put"])


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
    low, high = _limits(dtype)
    if whole and low <= given <= high:
        return int(given)
    remedy = "round it, or declare a type that has it"
    if whole:
        remedy = (
            f"compiled code would wrap it: keep it from {low} to {high}, or declare a wider type"
        )
    raise ProgramError(f"{where} is of type {dtype} and was given {given!r}; {remedy}")


@cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the least and the greatest value of a type of integers; NumPy takes a microsecond."""
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


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
        dtype = self.dtype
        if type(value) is int and dtype.kind in "iu":
            low, high = _limits(dtype)
            if low <= value <= high:
                super().__setitem__(index, value)
                return
        if not isinstance(value, np.ndarray):
            value = held(f"{self.where}[{index}]", dtype, value)
        super().__setitem__(index, value)


def zeros(where: str, dtype: np.dtype[Any]) -> StateArray:
    """Return the array of a field, of zeros."""
    assert dtype.subdtype is not None
    base, shape = dtype.subdtype
    made = np.zeros(shape, dtype=base).view(StateArray)
    made.where = where
    return made
