"""Converts cells to numbers, exactly or not at all.

A decimal text becomes the nearest float. Every other conversion preserves the value. Blanks around a text
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
_NOT_FINITE = "is not finite, and answers with it cannot be compared"
LONGEST_SHOWN = 60
"""Maximum number of characters of a value in a message."""
_EXACT_DIGITS = 1e15
"""A float64 identifies each decimal of at most 15 digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """The cells of a column as numbers.

    Attributes:
        values: numbers of the requested type; 0 for empty and bad cells.
        empty: mask of the empty cells.
        bad: by row: why the cell cannot be read.
    """

    values: npt.NDArray[Any]
    empty: npt.NDArray[np.bool_]
    bad: dict[int, str]


def parse_numbers(column: "pa.Array", dtype: np.dtype[Any], place: str) -> Numbers:
    """Return the cells of a column as numbers.

    Raises:
        DatasetError: the column's type cannot hold numbers.
    """
    column = decode_column(column)
    kind = column.type
    if is_text(kind) and not column.null_count:
        values_at_once = _convert_at_once(column, dtype)
        if values_at_once is not None:
            return Numbers(values=values_at_once, empty=np.zeros(len(column), np.bool_), bad={})
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
        raise DatasetError(f"{place}: a column of type {kind} cannot become {dtype}")
    empty = mask_of(column.is_null())
    values_at_once = _convert_at_once(column, dtype)
    if values_at_once is not None:
        return Numbers(values=values_at_once, empty=empty, bad={})
    values, bad = np.zeros(len(column), dtype), {}
    for row, value in enumerate(column.to_pylist()):
        if value is None:
            continue
        try:
            values[row] = convert_exactly(value, dtype)
        except ValueError as error:
            bad[row] = f"{shorten(value)} {error}"
    return Numbers(values=values, empty=empty, bad=bad)


def use_decimal_point(column: "pa.Array", decimal: str) -> tuple["pa.Array", dict[int, str]]:
    """Replace the separator `decimal` in texts by a point; also return, by row, why a text cannot be read."""
    column = decode_column(column)
    if decimal == "." or not is_text(column.type):
        return column, {}
    points = mask_of(pc.match_substring(column, "."))
    bad = {
        int(
            row
        ): f"{shorten(column[int(row)].as_py())} has a point, but the decimal separator is ','"
        for row in np.flatnonzero(points)
    }
    if bad:
        column = pc.if_else(pa.array(points), None, column)
    return pc.replace_substring(column, ",", "."), bad


def parse_scaled_numbers(
    column: "pa.Array", factor: int, dtype: np.dtype[Any], place: str
) -> Numbers:
    """Return decimals, multiplied by `factor` (a power of ten), as exact whole numbers of type `dtype`.

    Raises:
        DatasetError: the column's type cannot hold numbers.
    """
    column = decode_column(column)
    if is_text(column.type):
        column = pc.utf8_trim_whitespace(column)
        column = pc.if_else(pc.equal(column, ""), None, column)
        needs_check = has_hexadecimal(column)
    else:
        parse_numbers(column.slice(0, 0), np.dtype(np.float64), place)  # raises for other types
        needs_check = pa.types.is_boolean(column.type)
    empty = mask_of(column.is_null())
    values = None if needs_check else _scale_at_once(column, factor, dtype)
    if values is not None:
        return Numbers(values=values, empty=empty, bad={})
    values, bad = np.zeros(len(column), dtype), {}
    limits = np.iinfo(dtype)
    for row, value in enumerate(column.to_pylist()):
        if value is None:
            continue
        text = repr(value) if isinstance(value, float) else str(value)
        product = Decimal(text) * factor if _NUMBER.fullmatch(text) else None
        if product is None:
            bad[row] = f"{shorten(value)} is not a number"
        elif product % 1 != 0:
            bad[row] = f"{shorten(value)} times {factor} is not a whole number"
        elif not limits.min <= product <= limits.max:
            bad[row] = f"{shorten(value)} times {factor} is beyond the range of {dtype}"
        else:
            values[row] = int(product)
    return Numbers(values=values, empty=empty, bad=bad)


def _scale_at_once(
    column: "pa.Array", factor: int, dtype: np.dtype[Any]
) -> npt.NDArray[Any] | None:
    """Return all cells times `factor`, computed at once; None if a cell may be unreadable or inexact."""
    limits = np.iinfo(dtype)
    if pa.types.is_float64(column.type):
        floats = np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False))
        with np.errstate(over="ignore", invalid="ignore"):
            products = np.rint(floats * factor)
            # Only one decimal of at most 15 digits is nearest to this float, so this is the product of that decimal.
            exact = (products / factor == floats) & (np.abs(products) < _EXACT_DIGITS)
        fits = exact & (products >= limits.min) & (products <= limits.max)
        return products.astype(dtype) if fits.all() else None
    if pa.types.is_floating(column.type):
        return None
    digits = len(str(factor)) - 1
    try:
        decimals = column.cast(pa.decimal128(38, digits))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    # Arrow stores a decimal as value * 10^digits, in two words of 64 bits.
    words = np.frombuffer(decimals.buffers()[1], "<i8").reshape(-1, 2)
    words = words[decimals.offset : decimals.offset + len(decimals)]
    low, high = (np.where(mask_of(decimals.is_valid()), words[:, half], 0) for half in (0, 1))
    fits = (
        (high == low >> 63)
        & (low >= max(limits.min, -(2**63)))
        & (low <= min(limits.max, 2**63 - 1))
    )
    return low.astype(dtype) if fits.all() else None


def decode_column(column: "pa.Array") -> "pa.Array":
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


def shorten(value: object) -> str:
    """Return a value for messages, shortened to `LONGEST_SHOWN` characters."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def _convert_at_once(column: "pa.Array", dtype: np.dtype[Any]) -> npt.NDArray[Any] | None:
    """Return all cells, converted at once; None if a cell may be unreadable or inexact."""
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


def convert_exactly(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a value converted to a type.

    Raises:
        ValueError: the conversion would change the value. The message is the end of a sentence about the value.
    """
    is_string = isinstance(value, str)
    if dtype == np.bool_:
        if isinstance(value, int | float) and value in (0, 1):
            return bool(value)
        if is_string and value.lower() in _TRUTH:
            return _TRUTH[value.lower()]
    elif not is_string or _NUMBER.fullmatch(value):
        number = Decimal(value) if is_string else value
        if dtype.kind == "f":
            return _convert_to_float(number, dtype)
        limits = np.iinfo(dtype)
        if limits.min <= number <= limits.max and number % 1 == 0:
            return int(number)
    elif dtype.kind == "f":
        not_finite = value.lower().lstrip("+-") in ("inf", "infinity", "nan")
        raise ValueError(_NOT_FINITE if not_finite else "is not a number")
    raise ValueError(f"is not a valid {dtype}")


def can_parse(text: str, dtype: np.dtype[Any]) -> bool:
    """Return whether a text without surrounding blanks can be read as a value of a type."""
    try:
        convert_exactly(text, dtype)
    except ValueError:
        return False
    return True


def _convert_to_float(number: Any, dtype: np.dtype[Any]) -> Any:
    may_round = isinstance(number, Decimal)  # few decimal fractions are floats
    if not may_round and not np.isfinite(number):
        raise ValueError(_NOT_FINITE)
    with np.errstate(over="ignore"):
        result = dtype.type(number)
    if not np.isfinite(result):
        raise ValueError(f"is beyond the range of {dtype}")
    if not may_round and float(result) != number:
        raise ValueError(f"is not exactly a {dtype}")
    return result
