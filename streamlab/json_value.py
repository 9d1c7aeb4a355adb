"""Defines types of JSON values, and functions that check a value and narrow its type."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

JsonValue = str | int | float | bool | None | Sequence["JsonValue"] | Mapping[str, "JsonValue"]
if not TYPE_CHECKING:
    JsonValue = Any  # msgspec has no recursive types
JsonObject = Mapping[str, JsonValue]


def json_object(value: object) -> JsonObject:
    """Return a JSON object as a mapping; None, for null or an absent key, gives an empty mapping.

    Raises:
        TypeError: `value` is not a JSON object.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"expected a JSON object, got {type(value).__name__}")
    return value


def json_list(value: object) -> Sequence[JsonValue]:
    """Return a JSON list as a sequence; None, for null or an absent key, gives an empty sequence.

    Raises:
        TypeError: `value` is not a JSON list.
    """
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise TypeError(f"expected a JSON list, got {type(value).__name__}")
    return value


def json_number(value: object) -> float:
    """Return a JSON number.

    Raises:
        TypeError: `value` is not a JSON number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"expected a number, got {value!r:.60}")
    return value
