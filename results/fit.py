"""Makes a row such as its columns can hold, so that one odd value does not cost a whole run."""

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


def fitted(row: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the row as the schema's columns can hold it, and what could not be held, in words.

    Texts keep all they say (`encodable`). What is of another type than its column, or does not fit
    into 64 bits, is null and told. A measured number that is not finite is null, and a warning of
    the row: it says nothing against the others. Columns that the schema lacks are left as they are.
    """
    fit, told, lost = dict(row), [], []
    for column in COLUMNS:
        value = row.get(column.name)
        if value is None:
            continue
        try:
            fit[column.name] = _FITS[column.type](value)
        except (TypeError, ValueError, OverflowError):
            fit[column.name] = None
            seen = encodable(repr(value)[:80])
            told.append(f"{column.name} is {seen}, which is no {column.type}")
            continue
        if column.type == "float64" and not math.isfinite(value):
            fit[column.name] = None
            lost.append(f"{column.name} is {float(value)}, no finite number: it is left out")
    if lost:
        fit["warnings"] = json.dumps([*json.loads(fit.get("warnings") or "[]"), *lost])
    return fit, tuple(told)


def encodable(value: Any) -> Any:
    r"""Return a JSON value whose texts can all be written as UTF-8, and shown.

    A lone surrogate, which stands for a byte that was no UTF-8, is escaped, `\udcff`, and so are
    control characters, which would command a terminal: `\x1b`. Line ends and tabs stay.
    """
    if isinstance(value, str):
        shown = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", value)
        return shown.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {encodable(key): encodable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [encodable(item) for item in value]
    return value


def with_bytes(text: str) -> str:
    r"""Return a text whose bytes that are no UTF-8 were escaped by `encodable` as it was before.

    In TOML, `\udcff` alone is not allowed, so that in a matrix it is always such an escape.
    """
    return _ESCAPED_BYTE.sub(lambda found: found[1] + chr(int(found[2], 16)), text)


def _text(value: object) -> object:
    if not isinstance(value, str):
        raise TypeError
    return encodable(value)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError
    if not isinstance(value, Integral):
        value = float(value)
        if not value.is_integer():
            raise TypeError
    whole = int(value)
    if not _SMALLEST <= whole <= _LARGEST:
        raise ValueError
    return whole


def _number(value: object) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError
    return float(value)


def _truth(value: object) -> bool:
    if type(value).__name__ not in ("bool", "bool_"):  # NumPy's is told by its name
        raise TypeError
    return bool(value)


_FITS: Mapping[str, Callable[[Any], Any]] = {
    "string": _text,
    "int64": _whole,
    "float64": _number,
    "bool": _truth,
}
