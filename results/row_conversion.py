"""Converts a row's values to the types of their columns, and escapes text that is not UTF-8.

A value that does not fit is reported and left out, so that one bad value does not invalidate a run.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

from streamlab.results.schema import COLUMNS

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ESCAPED_BYTE = re.compile(r"(?<!\\)((?:\\\\)*)\\u(dc[89a-f][0-9a-f])")
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def convert_row(row: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
    """Convert a row to the schema's types; also return a message for each value that does not fit.

    Texts are escaped (`escape_text`).
    A value of another type, or beyond 64 bits, becomes null and gets a message.
    A number that is not finite becomes null and gets a warning in the row; the other numbers stay valid.
    Unknown columns stay unchanged.
    """
    converted, misfits, lost = dict(row), [], []
    for column in COLUMNS:
        value = row.get(column.name)
        if value is None:
            continue
        try:
            converted[column.name] = fitting = _CONVERSIONS[column.type](value)
        except (TypeError, ValueError, OverflowError):
            converted[column.name] = None
            shown = escape_text(repr(value)[:80])
            misfits.append(f"{column.name} is {shown}, which is not of type {column.type}")
            continue
        if column.type == "float64" and not math.isfinite(fitting):
            converted[column.name] = None
            lost.append(f"{column.name} is {fitting}, not a finite number: it is left out")
    if lost:
        converted["warnings"] = json.dumps(
            [*json.loads(str(converted.get("warnings") or "[]")), *lost]
        )
    return converted, tuple(misfits)


def escape_text(value: Any) -> Any:
    r"""Escape the texts of a JSON value so that they are valid UTF-8 and safe to print.

    Escapes lone surrogates, which stand for invalid bytes (`\udcff`), and control characters, which
    would control a terminal (`\x1b`). Line ends and tabs stay.
    """
    if isinstance(value, str):
        shown = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", value)
        return shown.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {escape_text(key): escape_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [escape_text(item) for item in value]
    return value


def restore_bytes(text: str) -> str:
    r"""Restore the invalid bytes that `escape_text` escaped in a text.

    TOML does not allow `\udcff` alone, so in a matrix this text is always an escape.
    """
    return _ESCAPED_BYTE.sub(lambda match: match[1] + chr(int(match[2], 16)), text)


def _convert_text(value: object) -> object:
    if not isinstance(value, str):
        raise TypeError
    return escape_text(value)


def _convert_integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError
    if not isinstance(value, Integral):
        value = float(value)
        if not value.is_integer():
            raise TypeError
    integer = int(value)
    if not _SMALLEST <= integer <= _LARGEST:
        raise ValueError
    return integer


def _convert_number(value: object) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError
    return float(value)


def _convert_bool(value: object) -> bool:
    if type(value).__name__ not in ("bool", "bool_"):  # bool_: NumPy's, without an import
        raise TypeError
    return bool(value)


_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    "string": _convert_text,
    "int64": _convert_integer,
    "float64": _convert_number,
    "bool": _convert_bool,
}
