"""Defines the content of run.json, and reads it."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from streamlab.json_value import JsonObject, JsonValue
from streamlab.results.errors import ResultsError


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """The source revision.

    Attributes:
        commit: the commit; None without a checkout.
        dirty_diff_sha256: hash of the uncommitted changes; None for a clean tree.
        reason: why `commit` is None.
    """

    commit: str | None = None
    dirty_diff_sha256: str | None = None
    reason: str | None = None


class Software(msgspec.Struct, frozen=True, kw_only=True):
    """The interpreter, and the version of each installed package."""

    python: str | None = None
    implementation: str | None = None
    executable_prefix_is_venv: bool | None = None
    packages: Mapping[str, str] = {}


class DatasetRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A dataset of the run; `invented` describes the share of events that an import invented."""

    id: str
    workload: str | None = None
    events: int | None = None
    origin: JsonObject = {}
    source: str | None = None
    licence: str | None = None
    invented: str | None = None


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A session of the run: from `lab run` or `lab run --resume` to its end.

    Attributes:
        started_at, ended_at: UTC, ISO 8601; a killed session has no end.
        interrupted: whether the user stopped the session.
        energy: provider of energy figures, and the reason if the provider has none.
        idle_before_w, idle_after_w: watts of the idle machine by domain; None: not measured.
        confinement: the mechanism that confines trials, or why trials are unconfined.
        duration_s: length of the session.
    """

    started_at: str | None = None
    ended_at: str | None = None
    interrupted: bool | None = None
    energy: Mapping[str, str | None] | None = None
    idle_before_w: Mapping[str, float] | None = None
    confinement: str | None = None
    idle_after_w: Mapping[str, float] | None = None
    duration_s: float | None = None


class CeilingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The highest rate of a load generator; `reason` says why it is unknown."""

    ceiling_eps: float | None = None
    reason: str | None = None


class RunMeta(msgspec.Struct, frozen=True, kw_only=True):
    """The content of run.json; a field that an older run lacks has its default.

    Attributes:
        settings: the matrix's settings.
        matrix_text, matrix_folder: the matrix as TOML, and the folder of its relative paths.
        only: patterns of the selected cells; empty: all.
        keep_outputs: whether the run stores an answer for each cell.
        requested_engines: `engine` or `engine/variant`; at least one cell of each must run.
        cells: description of each cell, by id (`streamlab.lab.matrix.cells.describe`).
        code: hash of each workload's code, by key.
        host: properties of the machine, compared by `streamlab.results.machines`.
        datasets: datasets by key of the workload.
        container: facts about the container engine; None for processes.
        fingerprint: hash of all cells and datasets; None until the first session starts.
        generators: ceilings of the load generators, by engine, variant and batch.
        imported: for an imported run, the program that measured it and the names of its files; else None.
        recorded: the JSON object as read, with keys of other lab versions; empty for a new run.
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
        return {**self.recorded, **content}


def parse_meta(run_dir: Path, content: JsonObject) -> RunMeta:
    """Convert the JSON object of a run.json; keys of other versions of the lab are ignored.

    Raises:
        ResultsError: a part has the wrong type; the message names it.
    """
    try:
        meta = msgspec.convert(content, RunMeta)
    except msgspec.ValidationError as error:
        raise ResultsError(
            f"{run_dir / 'run.json'} is damaged: {error}; take run.json from a copy, or run it again"
        ) from error
    return msgspec.structs.replace(meta, recorded=content)
