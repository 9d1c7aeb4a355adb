"""Arranges run.json for the page, one section per top-level object.

Keys that later labs add appear on the page without a change here.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamlab.json_value import JsonObject
from streamlab.reports.numbers import number_of
from streamlab.reports.summary import code_of, start_time
from streamlab.results.meta import RunMeta
from streamlab.results.store import Run

_FOLDERS = re.compile(r"""(?<![\w.:/~-])~?/(?![\s/])([^/"'\n]+/)+(?=[^/"'\s])""")
"""The folders of an absolute path. Pages omit them: pages are shared, and the user's folders are private."""
_USER_KEYS = ("matrix_text", "datasets")
"""Keys whose values may name the user's files. run.json keeps their paths, which resuming a run needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A key path and its value as text; pages show the lines of a block unchanged."""

    key: str
    text: str
    is_block: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with facts."""

    title: str
    facts: tuple[Fact, ...]


def origin(run: Run, size: str) -> str:
    """Return a line with start, machine, code and size of a run."""
    host, version = run.meta.host, run.meta.lab_version
    cores = host.get("cores_usable")
    parts = (
        re.sub(r"^(\S{10})T(\S{5})\S*$", r"\1 \2 UTC", start_time(run)),
        host.get("cpu_model"),
        number_of(cores, "core") if isinstance(cores, int) and cores else "",
        f"stream-lab {version}, {code_of(run)}" if version else "",
        size,
    )
    return " \N{MIDDLE DOT} ".join(str(part) for part in parts if part)


def sections(meta: JsonObject) -> tuple[Section, ...]:
    """Return the sections of run.json; the first section, `Run`, has the single values.

    Removes absolute folders from the names of the user's files.
    """
    meta = {
        key: _without_folders(value) if key in _USER_KEYS else value
        for key, value in meta.items()
        if key != "matrix_folder"
    }
    large = {key: value for key, value in meta.items() if _is_object(value) or _is_block(value)}
    plain = _list_facts({key: value for key, value in meta.items() if key not in large})
    result = [Section(title="Run", facts=tuple(plain))] if plain else []
    for key, value in large.items():
        title = _key_words(key).capitalize()
        if key == "datasets":  # each dataset is long enough for its own section
            result += [
                Section(
                    title=f"Dataset {name}", facts=tuple(_list_facts(_entries(_user_text(entry))))
                )
                for name, entry in _entries(value).items()
            ]
        else:
            entries = _entries(_user_text(value)) if _is_object(value) else {key: value}
            result.append(Section(title=title, facts=tuple(_list_facts(entries))))
    return tuple(section for section in result if section.facts)


def named_facts(meta: JsonObject) -> dict[str, str]:
    """Return the text of each fact of run.json, by section and key."""
    return {
        f"{part.title}: {fact.key}": fact.text for part in sections(meta) for fact in part.facts
    }


def _without_folders(value: Any) -> Any:
    if isinstance(value, str):
        return _FOLDERS.sub("", value)
    if isinstance(value, Mapping):
        return {key: _without_folders(part) for key, part in value.items()}
    return [_without_folders(part) for part in value] if _is_list(value) else value


def invented(meta: RunMeta) -> tuple[str, ...]:
    """Return a text for each input with invented events: the share of events that an import invented."""
    return tuple(
        f"{key}: {dataset.invented}" for key, dataset in meta.datasets.items() if dataset.invented
    )


def _user_text(value: Any) -> Any:
    """Drop the nested parts of a mapping with the user's `text`, since these parts repeat the text in parsed form."""
    if isinstance(value, Mapping) and isinstance(value.get("text"), str):
        return {key: part for key, part in value.items() if not _is_object(part)}
    return value


def _list_facts(entries: JsonObject, path: str = "") -> list[Fact]:
    facts: list[Fact] = []
    for key, value in entries.items():
        name = f"{path} / {_key_words(str(key))}" if path else _key_words(str(key))
        if _is_object(value):
            facts.extend(_list_facts(_entries(value), name))
        elif value is not None and value != [] and value != {}:
            text = _format_value(value)
            facts.append(Fact(key=name, text=text, is_block=_is_block(text)))
    return facts


def _is_object(value: Any) -> bool:
    """Return whether a value has parts that each need a line."""
    if isinstance(value, Mapping):
        return bool(value)
    return _is_list(value) and any(isinstance(part, Mapping | list) for part in value)


def _is_block(value: Any) -> bool:
    return isinstance(value, str) and "\n" in value.strip()


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _entries(value: Any) -> JsonObject:
    if isinstance(value, Mapping):
        return value
    if not _is_list(value):
        return {"value": value}
    return {str(place): part for place, part in enumerate(value, start=1)}


def _key_words(key: str) -> str:
    return key.replace("_", " ")


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.6g}"
    if _is_list(value):
        return ", ".join(map(_format_value, value))
    return str(value).strip("\n")
