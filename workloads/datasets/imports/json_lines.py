"""Reads fields of JSON objects, one object a line."""

import json
from typing import Any

from streamlab.workloads.datasets.imports.cells import BadRowError


def object_of(line: str) -> dict[str, Any]:
    """Return the object of a line.

    Raises:
        BadRowError: not a JSON object.
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRowError(f"not JSON ({error})") from error
    if not isinstance(value, dict):
        raise BadRowError(f"a JSON {type(value).__name__} instead of an object")
    return value


def text_of(fields: dict[str, Any], field: str, *, empty: bool = False) -> str:
    """Return a field's text; `empty` allows an empty one.

    Raises:
        BadRowError: the field is missing, empty or not text.
    """
    text = fields.get(field)
    if not isinstance(text, str) or not (text or empty):
        shown = repr(text) if field in fields else "missing"
        raise BadRowError(f"field {field} is {shown}, not text")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadRowError(f"field {field} has half a surrogate pair, so it is not text") from error
    return text
