"""Defines the content of run.json, and checks the parts that reading, comparing or resuming needs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from streamlab.json_value import JsonObject, JsonValue, json_list, json_object
from streamlab.results.errors import ResultsError


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """An object in run.json."""

    @classmethod
    def of(cls, content: JsonObject) -> Self:
        """Convert a JSON object; keys of other versions of the lab are ignored."""
        return cls(**{name: content[name] for name in cls.__struct_fields__ if name in content})


_Record = TypeVar("_Record", bound=Record)


class Revision(Record, frozen=True, kw_only=True):
    """The source revision.

    Attributes:
        commit: the commit; None without a checkout.
        dirty_diff_sha256: hash of the changes since; None for a clean tree.
        reason: why `commit` is None.
    """

    commit: str | None = None
    dirty_diff_sha256: str | None = None
    reason: str | None = None


class Software(Record, frozen=True, kw_only=True):
    """The interpreter, and the version of each installed package."""

    python: str | None = None
    implementation: str | None = None
    executable_prefix_is_venv: bool | None = None
    packages: Mapping[str, str] = {}


class DatasetRecord(Record, frozen=True, kw_only=True):
    """A dataset of the run; `invented` is the share of its events that an import invented, in words."""

    id: str
    workload: str | None = None
    events: int | None = None
    origin: JsonObject = {}
    source: str | None = None
    licence: str | None = None
    invented: str | None = None


class SessionRecord(Record, frozen=True, kw_only=True):
    """A session of the run: from `lab run` or `lab run --resume` to its end.

    Attributes:
        started_at, ended_at: UTC, ISO 8601; a killed session has no end.
        interrupted: whether the user stopped it.
        energy: provider of the energy figures, and the reason if it has none.
        idle_before_w, idle_after_w: watts of the idle machine by domain; None: not measured.
        confinement: the mechanism that confines trials, or why they are unconfined.
        duration_s: its length.
    """

    started_at: str | None = None
    ended_at: str | None = None
    interrupted: bool | None = None
    energy: Mapping[str, str | None] | None = None
    idle_before_w: Mapping[str, float] | None = None
    confinement: str | None = None
    idle_after_w: Mapping[str, float] | None = None
    duration_s: float | None = None


class CeilingRecord(Record, frozen=True, kw_only=True):
    """The highest rate of a load generator; `reason` says why it is unknown."""

    ceiling_eps: float | None = None
    reason: str | None = None


class RunMeta(Record, frozen=True, kw_only=True):
    """The content of run.json; a field that an older run lacks has its default.

    Attributes:
        settings: the matrix's settings.
        matrix_text, matrix_folder: the matrix as TOML, and the base of its relative paths.
        only: patterns of the selected cells; empty: all.
        keep_outputs: whether the run stores an answer of each cell.
        requested_engines: of each, as `engine` or `engine/variant`, a cell must run.
        cells: description of each cell, by id (`streamlab.lab.matrix.cells.describe`).
        code: hash of each workload's code, by key.
        host: properties of the machine, compared by `streamlab.results.machines`.
        datasets: by key of the workload.
        container: facts about the container engine; None for processes.
        fingerprint: of all cells and datasets.
        generators: ceilings of the load generators, by engine, variant and batch.
        imported: of a run that was imported: the program, and the names of its files; None: the lab's own.
        recorded: the object as read, with keys of other versions; empty for a new run.
    """

    lab_version: str | None = None
    name: str = ""
    settings: JsonObject = {}
    matrix_text: str = ""
    matrix_folder: str = ""
    only: list[str] = []
    keep_outputs: bool = False
    requested_engines: list[str] = []
    cells: Mapping[str, JsonObject] = {}
    code: Mapping[str, str] = {}
    vcs: Revision = Revision()
    host: JsonObject = {}
    software: Software = Software()
    datasets: Mapping[str, DatasetRecord] = {}
    sessions: list[SessionRecord] = []
    complete: bool | None = None
    container: Mapping[str, str] | None = None
    fingerprint: str | None = None
    generators: Mapping[str, CeilingRecord] = {}
    imported: JsonObject | None = None
    recorded: JsonObject = {}

    def json(self) -> JsonObject:
        """Return the JSON object of run.json, without the schema version."""
        content: dict[str, JsonValue] = msgspec.to_builtins(self)
        del content["recorded"]
        if self.fingerprint is None:  # known when the first session starts
            del content["fingerprint"]
        return {**self.recorded, **content}


def parse_meta(run_dir: Path, content: JsonObject) -> RunMeta:
    """Convert the JSON object of a run.json.

    Raises:
        ResultsError: a part has the wrong type; the message names it.
    """
    _check_types(run_dir, content)
    meta = RunMeta.of(content)
    return msgspec.structs.replace(
        meta,
        vcs=Revision.of(json_object(content.get("vcs"))),
        software=Software.of(json_object(content.get("software"))),
        datasets=_records(DatasetRecord, content.get("datasets")),
        sessions=[
            SessionRecord.of(json_object(each)) for each in json_list(content.get("sessions"))
        ],
        generators=_records(CeilingRecord, content.get("generators")),
        recorded=content,
    )


def _records(kind: type[_Record], content: JsonValue) -> dict[str, _Record]:
    return {name: kind.of(json_object(each)) for name, each in json_object(content).items()}


class _Dataset(msgspec.Struct):
    id: object


_OBJECT = (dict[str, object], "an object")
_TEXT = (str, "a text")
_TEXT_OR_NULL = (str | None, "a text or null")
_PARTS: Mapping[str, tuple[Any, str]] = {
    "name": _TEXT,
    "matrix_text": _TEXT,
    "only": (list[str], "a list of texts"),
    "keep_outputs": (bool, "true or false"),
    "requested_engines": (list[str], "a list of texts"),
    "settings": _OBJECT,
    "settings.isolation": _OBJECT,
    "cells": _OBJECT,
    "vcs": _OBJECT,
    "vcs.commit": _TEXT_OR_NULL,
    "vcs.dirty_diff_sha256": _TEXT_OR_NULL,
    "host": _OBJECT,
    "software": _OBJECT,
    "software.packages": _OBJECT,
    "datasets": (dict[str, _Dataset], "objects with an id"),
    "sessions": (list[dict[str, object]], "a list of objects"),
    "complete": (bool, "true or false"),
}
"""Parts that resuming a run needs: their types, in code and in words."""

_OTHER_PARTS: Mapping[str, tuple[Any, str]] = {
    "code": (dict[str, str], "texts"),
    "matrix_folder": _TEXT,
    "generators": (dict[str, dict[str, object]], "objects"),
}
_TO_READ = ("vcs.commit", "vcs.dirty_diff_sha256", "host")
"""Parts that every command needs."""

_ABSENT = object()


def check_meta(run_dir: Path, meta: RunMeta, *, to_resume: bool = False) -> None:
    """Check that a run.json has the parts for reading or, with `to_resume`, for resuming the run.

    Raises:
        ResultsError: a part is missing; the message names it.
    """
    for path in _PARTS if to_resume else _TO_READ:
        if _part(meta.recorded, path) is _ABSENT:
            raise _damage(run_dir, path, "absent")


def _check_types(run_dir: Path, content: JsonObject) -> None:
    for path, (kind, _) in (*_PARTS.items(), *_OTHER_PARTS.items()):
        part = _part(content, path)
        try:
            if part is not _ABSENT:
                msgspec.convert(part, kind)
        except msgspec.ValidationError as error:
            raise _damage(run_dir, path, str(part)[:80]) from error


def _part(content: JsonObject, path: str) -> object:
    part: object = content
    for name in path.split("."):
        part = part.get(name, _ABSENT) if isinstance(part, Mapping) else _ABSENT
    return part


def _damage(run_dir: Path, path: str, shown: str) -> ResultsError:
    expected = {**_PARTS, **_OTHER_PARTS}[path][1]
    return ResultsError(
        f"{run_dir / 'run.json'} is damaged: {path} is {shown}; expected {expected}; "
        "take run.json from a copy, or run it again"
    )
