"""Writes a matrix as TOML text, so that a run made from Python is stored and resumed as any."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

Tree = Mapping[str, Any]


def matrix_text(tree: Tree) -> str:
    """Return TOML for a matrix: `run` a table, the other keys lists of tables.

    Raises:
        TypeError: a value that no matrix holds.
    """
    parts = []
    for key, content in tree.items():
        tables = [content] if isinstance(content, Mapping) else content
        head = f"[{key}]" if isinstance(content, Mapping) else f"[[{key}]]"
        for table in tables:
            lines = [f"{name} = {_value(value)}" for name, value in table.items()]
            parts.append("\n".join([head, *lines]))
    return "\n\n".join(parts) + "\n"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_value, value)) + "]"
    raise TypeError(f"{value!r} has no place in a matrix")


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text(key)


def _text(text: str) -> str:
    # A JSON string is a TOML string but for the delete character, which TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
