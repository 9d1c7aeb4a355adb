"""Creates a run directory or reopens one, and records the run in it."""

import errno
import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

from msgspec.structs import replace

from streamlab.json_value import JsonObject
from streamlab.lab.errors import DiskFullError, LabError, ResumeError
from streamlab.lab.matrix.cells import Cell, describe
from streamlab.lab.runner.provenance import host, revision, software
from streamlab.lab.runner.run_plan import RunPlan
from streamlab.results import fingerprints
from streamlab.results.differences import differing_values
from streamlab.results.machines import compare_machines
from streamlab.results.meta import DatasetRecord, RunMeta, SessionRecord
from streamlab.results.row_conversion import escape_text
from streamlab.results.schema import TrialRow
from streamlab.results.seal import compact, seal_files, seal_old_run, verify_run
from streamlab.results.store import read_meta, read_trials, write_meta, write_table, write_trial
from streamlab.workloads.datasets.dataset import Dataset, invented_words

LOCK = ".lock"
"""File in a run directory; the process that works on the run locks this file."""


def now() -> str:
    """Return the time as UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def new_meta(plan: RunPlan) -> RunMeta:
    """Return the content of run.json at the start of a run, without datasets."""
    return RunMeta(
        lab_version=_lab_version(),
        name=plan.matrix.name,
        settings=asdict(plan.matrix.settings),
        matrix_text=plan.text,
        matrix_folder=str(plan.matrix.folder),
        only=list(plan.only),
        keep_outputs=plan.keep_outputs,
        requested_engines=list(plan.requested_engines),
        cells={cell.id: describe(cell) for cell in plan.cells},
        code={entry.key: entry.bound().code() for entry in plan.entries},
        vcs=revision(),
        host=host(),
        software=software(),
        complete=False,
    )


class RunDirectory:
    """A run on disk: its directory, and the content of its run.json."""

    def __init__(self, path: Path, meta: RunMeta) -> None:
        self.path = path
        self.meta = meta

    @classmethod
    def create(cls, root: Path, meta: RunMeta) -> Self:
        """Create a run directory below `root` and write its run.json."""
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _creation_error(root, error) from error
        for attempt in range(100):
            suffix = f"-{attempt}" if attempt else ""
            path = root / f"{stamp}-{meta.name}{suffix}"
            try:
                path.mkdir()  # atomic: if several runs start now, only one gets this name
            except FileExistsError:
                continue
            except OSError as error:
                raise _creation_error(path, error) from error
            try:
                for part in ("trials", "logs", "series", "outputs"):
                    (path / part).mkdir()
                write_meta(path, meta)
            except OSError as error:
                shutil.rmtree(path, ignore_errors=True)
                raise _creation_error(path, error) from error
            return cls(path, meta)
        raise LabError(f"{root} already has 100 runs called {stamp}-{meta.name}; use another name")

    @classmethod
    def reopen(cls, path: Path, meta: RunMeta) -> Self:
        """Return a stored run, after checking that `meta` describes the same run; call `hold` first.

        Cells, settings, source revision and packages must be equal, and the machines comparable.

        Raises:
            ResumeError: something differs; the message has its name and both values.
            ResultsError: `path` is not a run.
        """
        stored = read_meta(path)
        _check_same_run(path, stored, meta)
        return cls(path, stored)

    def save(self, **changes: Any) -> None:
        """Write run.json with these changes."""
        self.meta = replace(self.meta, **changes)
        with self.writing("run.json"):
            write_meta(self.path, self.meta)

    def open_session(self) -> dict[str, TrialRow]:
        """Verify the run's files, add a session that starts now, and return the stored rows."""
        seal_old_run(self.path)
        verify_run(self.path)
        rows = read_trials(self.path)
        self.meta = replace(self.meta, fingerprint=run_fingerprint(self.meta))
        self.save(sessions=[*self.meta.sessions, SessionRecord(started_at=now())])
        return rows

    def note_in_session(self, **fields: Any) -> None:
        """Change these fields of the current session, in memory."""
        *earlier_sessions, current = self.meta.sessions
        self.meta = replace(self.meta, sessions=[*earlier_sessions, replace(current, **fields)])

    def record(self, name: str, row: TrialRow) -> None:
        """Seal the files of a trial and write its row."""
        files = (row.log, row.series, row.histograms, row.reconfigurations)
        with self.writing(f"the record of {name}"):
            seal_files(self.path, *(self.path / file for file in files if file is not None))
            write_trial(self.path, name, row)

    def close_session(self, *, interrupted: bool, began_ns: int) -> None:
        """Write the files that end a session; after an error, the resumed run writes these files."""
        duration_s = (time.monotonic_ns() - began_ns) / 1e9
        self.note_in_session(ended_at=now(), interrupted=interrupted, duration_s=duration_s)
        with self.writing("the end of the session"):
            write_meta(self.path, self.meta)
            write_table(self.path)
            seal_files(self.path, *sorted((self.path / "logs").glob("*.log")))
            compact(self.path)

    @contextmanager
    def writing(self, content: str) -> Iterator[None]:
        """Convert a failed write to an error with the remedy; stored rows stay complete.

        Raises:
            DiskFullError: the disk is full.
            LabError: another write error.
        """
        try:
            yield
        except OSError as error:
            kind = DiskFullError if error.errno == errno.ENOSPC else LabError
            raise kind(
                f"{self.path}: {content} cannot be written: {error.strerror or error}; free space, "
                f"then resume with: lab run --resume {self.path}"
            ) from error


def _creation_error(run_dir: Path, error: OSError) -> LabError:
    return LabError(
        f"{run_dir}: cannot create the run directory: {error.strerror or error}; free space there, "
        "or use --out"
    )


@contextmanager
def hold(run_dir: Path) -> Iterator[None]:
    """Lock a run against other processes; the lock ends with the block or with this process.

    Raises:
        LabError: the lock file cannot be opened.
        ResumeError: another process has the lock; the message has its id.
    """
    path = run_dir / LOCK
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise LabError(
            f"{run_dir}: cannot lock the run: {error.strerror or error}; copy it to a writable folder"
        ) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(lock, 32).decode() or "unknown"
            raise ResumeError(
                f"{run_dir} is in use by process {owner}; wait for it or stop it, then resume"
            ) from None
        with suppress(OSError):  # on a full disk, the lock holds without naming its owner
            os.truncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(lock)


def _check_same_run(run_dir: Path, stored: RunMeta, meta: RunMeta) -> None:
    """Raise a ResumeError if the run to resume differs in a part that must be equal."""
    pairs = [
        ("only", stored.only, meta.only),
        ("keep_outputs", stored.keep_outputs, meta.keep_outputs),
        # Stored texts are escaped; escape the new ones as well.
        ("matrix cells", stored.cells, escape_text(meta.cells)),
        ("matrix settings", stored.settings, escape_text(meta.settings)),
        ("source revision vcs.commit", stored.vcs.commit, meta.vcs.commit),
        (
            "source revision vcs.dirty_diff_sha256",
            stored.vcs.dirty_diff_sha256,
            meta.vcs.dirty_diff_sha256,
        ),
        ("packages", stored.software.packages, meta.software.packages),
    ]
    _refuse_edited(run_dir, stored.code, escape_text(meta.code))
    changed_fields = compare_machines(stored.host, meta.host).decisive
    pairs += [(f"host.{field.name}", field.old, field.new) for field in changed_fields]
    for name, before, after in pairs:
        for path, old, new in differing_values(before, after, name):
            words = "is new" if isinstance(new, dict) else f"was {old!r}, is {new!r} now"
            words = "is missing now" if isinstance(old, dict) else words
            raise ResumeError(
                f"{run_dir} cannot be resumed: {path} {words}; start a new run instead"
            )


def _refuse_edited(run_dir: Path, stored: Mapping[str, str], current: Mapping[str, str]) -> None:
    """Raise an error if the code of a workload was edited since the run started."""
    for key, code in current.items():
        if stored.get(key, code) != code:
            raise ResumeError(
                f"{run_dir} cannot be resumed: the code of workload {key} (its program, output type, "
                "oracle or input function, or code that these use) was edited since the run "
                "started; start a new run, or restore the code"
            )


def dataset_record(dataset: Dataset) -> DatasetRecord:
    """Return the entry of a dataset in run.json."""
    return DatasetRecord(
        id=dataset.id,
        workload=dataset.workload,
        events=dataset.events,
        origin=json.loads(json.dumps(dict(dataset.origin), default=str)),
        source=dataset.source,
        licence=dataset.licence,
        invented=invented_words(dataset.origin, dataset.events) or None,
    )


def record_dataset(meta: RunMeta, key: str, dataset: Dataset) -> RunMeta:
    """Return run.json with a workload's dataset.

    Raises:
        ResumeError: the run was started with another dataset.
    """
    old_record = meta.datasets.get(key)
    if old_record is not None and old_record.id != dataset.id:
        raise ResumeError(
            f"the run cannot be resumed: the dataset of {key} was {old_record.id} and is now {dataset.id}; "
            "start a new run instead"
        )
    return replace(meta, datasets={**meta.datasets, key: dataset_record(dataset)})


def fingerprint(cell: Cell, dataset: Dataset, meta: RunMeta) -> str:
    """Return the hash of a cell's conditions; only results with equal hashes may be compared.

    The hash covers neither the source revision nor the machine; machines are compared with tolerances.
    """
    content = fingerprints.conditions_of_cell(
        describe(cell),
        dataset.id,
        meta.settings["isolation"],
        # Several workloads may share this input.
        cell.entry.name if cell.entry.name != dataset.workload else None,
    )
    return fingerprints.fingerprint(content)


def run_fingerprint(meta: RunMeta) -> str:
    """Return the fingerprint of a run, which covers all cells and datasets."""
    content: JsonObject = {
        "cells": meta.cells,
        "datasets": {key: dataset.id for key, dataset in meta.datasets.items()},
        "isolation": meta.settings["isolation"],
    }
    return fingerprints.fingerprint(content)


def _lab_version() -> str:
    try:
        return version("stream-lab")
    except PackageNotFoundError:
        return "not installed"
