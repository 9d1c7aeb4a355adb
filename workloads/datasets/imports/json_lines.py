"""Fields of JSON objects, one a line."""

import json
from typing import Any

from streamlab.workloads.datasets.imports.cells import BadRowError


def object_of(line: str) -> dict[str, Any]:
    """Return the object of a line.

    Raises:
        BadRowError: not a JSON object.
    """
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRowError(f"not JSON ({error})") from error
    if not isinstance(found, dict):
        raise BadRowError(f"a JSON {type(found).__name__} instead of an object")
    return found


def text_of(found: dict[str, Any], field: str, *, empty: bool = False) -> str:
    """Return a field's text, which may be empty only where that is said.

    Raises:
        BadRowError: it is missing or not text.
    """
    text = found.get(field)
    if not isinstance(text, str) or not (text or empty):
        shown = repr(text) if field in found else "missing"
        raise BadRowError(f"field {field} is {shown}, not text")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadRowError(f"field {field} has half a surrogate pair, which is no text") from error
    return text
