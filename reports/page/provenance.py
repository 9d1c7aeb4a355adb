"""Lays out run.json for reading: one section a top-level object, whatever keys it has.

Keys are not named here, so that whatever a later lab records is shown without a change to the page.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_FOLDERS = re.compile(r"""(?<![\w.:/~-])~?/(?![\s/])([^/"'\n]+/)+(?=[^/"'\s])""")
"""The folders of an absolute path: a page is passed on, and those are nobody else's concern."""
_THE_USERS = ("matrix_text", "datasets")
"""What may name the user's files. run.json keeps the paths, which a resumed run needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A key path, and its value as text; a block is shown line by line, as it is."""

    key: str
    text: str
    is_block: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with facts."""

    title: str
    facts: tuple[Fact, ...]


def sections(meta: Mapping[str, Any]) -> tuple[Section, ...]:
    """Return the sections of run.json; single values come first, as the section `Run`.

    The user's files are named without their folders where those are absolute.
    """
    meta = {
        key: _without_folders(value) if key in _THE_USERS else value
        for key, value in meta.items()
        if key != "matrix_folder"
    }
    apart = {key: value for key, value in meta.items() if _is_object(value) or _is_block(value)}
    plain = _facts({key: value for key, value in meta.items() if key not in apart})
    result = [Section(title="Run", facts=tuple(plain))] if plain else []
    for key, value in apart.items():
        title = _words(key).capitalize()
        if key == "datasets":  # each is long enough for a section of its own
            result += [
                Section(title=f"Dataset {name}", facts=tuple(_facts(_entries(_own_words(one)))))
                for name, one in _entries(value).items()
            ]
        else:
            whole = _entries(_own_words(value)) if _is_object(value) else {key: value}
            result.append(Section(title=title, facts=tuple(_facts(whole))))
    return tuple(section for section in result if section.facts)


def _without_folders(value: Any) -> Any:
    if isinstance(value, str):
        return _FOLDERS.sub("", value)
    if isinstance(value, Mapping):
        return {key: _without_folders(part) for key, part in value.items()}
    return [_without_folders(part) for part in value] if _is_list(value) else value


def invented(meta: Mapping[str, Any]) -> tuple[str, ...]:
    """Return, of each input, what share of its events an import invented, where it did."""
    found = meta.get("datasets") or {}
    return tuple(f"{key}: {one['invented']}" for key, one in found.items() if one.get("invented"))


def _own_words(value: Any) -> Any:
    """Leave out the parsed form of what is there as the user wrote it."""
    if isinstance(value, Mapping) and isinstance(value.get("text"), str):
        return {key: part for key, part in value.items() if not _is_object(part)}
    return value


def _facts(entries: Mapping[str, Any], path: str = "") -> list[Fact]:
    facts: list[Fact] = []
    for key, value in entries.items():
        name = f"{path} / {_words(str(key))}" if path else _words(str(key))
        if _is_object(value):
            facts.extend(_facts(_entries(value), name))
        elif value is not None and value != [] and value != {}:
            text = _text(value)
            facts.append(Fact(key=name, text=text, is_block=_is_block(text)))
    return facts


def _is_object(value: Any) -> bool:
    """Tell whether a value has parts that deserve a line each."""
    if isinstance(value, Mapping):
        return bool(value)
    return _is_list(value) and any(isinstance(part, Mapping | list) for part in value)


def _is_block(value: Any) -> bool:
    return isinstance(value, str) and "\n" in value.strip()


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _entries(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    if not _is_list(value):
        return {"value": value}
    return {str(place): part for place, part in enumerate(value, start=1)}


def _words(key: str) -> str:
    return key.replace("_", " ")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.6g}"
    if _is_list(value):
        return ", ".join(map(_text, value))
    return str(value).strip("\n")
