"""Converts cells to numbers, exactly or not at all.

Decimal texts give the nearest float; every other conversion preserves the value. Blanks around a text
are ignored. Empty and unreadable cells are reported by row.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets import pa, pc
from streamlab.workloads.datasets.arrow import has_hexadecimal
from streamlab.workloads.datasets.errors import DatasetError

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_TRUTH = {"true": True, "false": False, "1": True, "0": False}
LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """The cells of a column as numbers.

    Attributes:
        values: of the requested type; 0 for empty and bad cells.
        empty: mask of the empty cells.
        bad: why a cell cannot be read, by row.
    """

    values: npt.NDArray[Any]
    empty: npt.NDArray[np.bool_]
    bad: dict[int, str]


def numbers(column: "pa.Array", dtype: np.dtype[Any], place: str) -> Numbers:
    """Return the cells of a column.

    Raises:
        DatasetError: the column's type cannot hold numbers.
    """
    column = plain(column)
    kind = column.type
    if is_text(kind) and not column.null_count:
        quick_values = _quick(column, dtype)
        if quick_values is not None:
            return Numbers(values=quick_values, empty=np.zeros(len(column), np.bool_), bad={})
    if is_text(kind):
        column = pc.utf8_trim_whitespace(column)
        column = pc.if_else(pc.equal(column, ""), None, column)
    elif not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
    ):
        raise DatasetError(f"{place}: a column of type {kind} does not give {dtype}")
    empty = mask_of(column.is_null())
    quick_values = _quick(column, dtype)
    if quick_values is not None:
        return Numbers(values=quick_values, empty=empty, bad={})
    values, bad = np.zeros(len(column), dtype), {}
    for row, value in enumerate(column.to_pylist()):
        if value is None:
            continue
        exact_value = _exact(value, dtype, kind)
        if exact_value is None:
            bad[row] = f"{shown(value)} {_why_not(value, dtype)}"
        else:
            values[row] = exact_value
    return Numbers(values=values, empty=empty, bad=bad)


def plain(column: "pa.Array") -> "pa.Array":
    """Return a column without encodings such as dictionaries."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    return column


def is_text(kind: "pa.DataType") -> bool:
    """Return whether a column of an Arrow type holds texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def mask_of(column: "pa.Array") -> npt.NDArray[np.bool_]:
    """Return a column of booleans as a mask; nulls are False."""
    return np.asarray(column.fill_null(False).to_numpy(zero_copy_only=False))


def shown(value: object) -> str:
    """Return a value for messages, shortened if long."""
    words = repr(value) if isinstance(value, str) else str(value)
    return words if len(words) <= LONGEST_SHOWN else words[: LONGEST_SHOWN - 3] + "..."


def _quick(column: "pa.Array", dtype: np.dtype[Any]) -> npt.NDArray[Any] | None:
    """Return all cells, converted at once; None if some may be unreadable or inexact."""
    if dtype == np.bool_ or pa.types.is_boolean(column.type):
        return None if len(column) > column.null_count else np.zeros(len(column), dtype)
    if is_text(column.type) and dtype.kind in "iu" and has_hexadecimal(column):
        return None
    target = pa.from_numpy_dtype(dtype)
    try:
        converted = column.cast(target).fill_null(pa.scalar(0, pa.int8()).cast(target))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    values = np.asarray(converted.to_numpy(zero_copy_only=False))
    if dtype.kind == "f":
        if not np.isfinite(values).all():
            return None
        if pa.types.is_floating(column.type):
            originals = np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False))
            if not np.array_equal(originals, values.astype(originals.dtype)):
                return None
    return values


def _why_not(value: Any, dtype: np.dtype[Any]) -> str:
    """Return why a value cannot be read, as the end of a sentence."""
    if dtype.kind != "f":
        return f"is not a valid {dtype}"
    try:
        number = float(value)
    except ValueError:
        return "is not a number"
    numeral = not isinstance(value, str) or _NUMBER.fullmatch(value)
    if not numeral and np.isfinite(number):
        return "is not a number"  # Python's float accepts 1_000
    if not numeral or (not isinstance(value, str) and not np.isfinite(number)):
        return "is not finite, and answers with it cannot be compared"
    with np.errstate(over="ignore"):
        beyond = not np.isfinite(dtype.type(number))
    return f"is beyond the range of {dtype}" if beyond else f"is not exactly a {dtype}"


def _exact(value: Any, dtype: np.dtype[Any], kind: "pa.DataType") -> Any:
    """Return a value converted to the type; None if that changes it."""
    text = isinstance(value, str)
    if dtype == np.bool_:
        if isinstance(value, bool):
            return value
        if isinstance(value, int | float) and value in (0, 1):
            return bool(value)
        return _TRUTH.get(value.lower()) if text else None
    number = value
    if text:
        if not _NUMBER.fullmatch(value):
            return None
        number = Decimal(value)
    if dtype.kind in "iu":
        if number != number or number in (float("inf"), float("-inf")) or number % 1 != 0:
            return None
        limits = np.iinfo(dtype)
        return int(number) if limits.min <= number <= limits.max else None
    with np.errstate(over="ignore"):
        result = dtype.type(number)
    if not np.isfinite(result):
        return None
    rounds = text or isinstance(number, Decimal)  # decimal fractions have no exact form
    return result if rounds or float(result) == number else None
