"""Runs the steps of an import: check, read, derive, number, sort, write, publish."""

import hashlib
from pathlib import Path
from typing import Any

from streamlab.workloads.datasets.builder import record_of
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import NOT_STATED, Dataset
from streamlab.workloads.datasets.executor import AUTO, Executor, executor
from streamlab.workloads.datasets.imports.file_reader import Reading
from streamlab.workloads.datasets.imports.kind import ImportKind, ImportOptions
from streamlab.workloads.datasets.imports.steps import (
    DeriveTask,
    NumberTask,
    ReadTask,
    derived_block,
    raw_block,
    read_block,
)
from streamlab.workloads.datasets.manifest import Content
from streamlab.workloads.datasets.progress import Progress, watch
from streamlab.workloads.datasets.rows import Rows
from streamlab.workloads.datasets.session import DEFAULT_MASTER
from streamlab.workloads.datasets.stream_table import StreamTask

SMALL_BYTES = 256 << 20
"""Up to this size, one process is faster than Spark. It is about ten million lines, because files are
compressed several times over. One task reads the files either way."""


def import_files(
    kind: ImportKind,
    options: ImportOptions,
    *,
    catalog: Catalog | None = None,
    way: str = AUTO,
    master: str = DEFAULT_MASTER,
    progress: Progress | None = None,
) -> Dataset:
    """Import raw files into the catalogue.

    Equal files and options give a dataset with the same id, in this process or on Spark (`way`).

    Raises:
        DatasetError: a file cannot be read, has more bad rows than allowed or is not sorted; the
            catalogue is unchanged.
    """
    options = kind.complete(options)
    where = catalog or Catalog.default()
    size_bytes = sum(path.stat().st_size for path in options.files)
    step = f"import {kind.name}"
    with where.staging() as staging:
        folder = staging / "dataset"
        folder.mkdir()
        with executor(step, way, small=size_bytes <= SMALL_BYTES, master=master) as on:
            read = ReadTask(kind.name, options, staging)
            with watch(progress, f"reading {kind.name} (bytes)", staging, size_bytes):
                (fields,) = on.run(read, 1)
            reading = Reading(**fields)
            reading.check(options.max_bad, options.sort)
            content = _write(on, kind, options, reading, staging, progress)
        for done in folder.glob("*.done"):
            done.unlink()
        return where.restate(
            where.publish(folder, content), options.source, options.licence, content.origin
        )


def _write(
    on: Executor,
    kind: ImportKind,
    options: ImportOptions,
    reading: Reading,
    staging: Path,
    progress: Progress | None,
) -> Content:
    folder = staging / "dataset"
    raw = tuple(raw_block(staging, index) for index in range(reading.blocks))
    derive = kind.prepare and kind.prepare(lambda: map(read_block, raw), options)
    blocks = raw
    if derive is not None:
        blocks = tuple(derived_block(staging, index) for index in range(reading.blocks))
        with watch(progress, "deriving columns", folder, 0):
            on.run(DeriveTask(derive, staging), reading.blocks)
    with watch(progress, "numbering texts", folder, 0):
        (numbered,) = on.run(NumberTask(kind.name, blocks, staging / "rows", folder), 1)
    rows = Rows(folder=staging / "rows", types=numbered["types"], count=numbered["count"])
    entries = numbered["entries"]
    tables = kind.streams(options, entries)
    if callable(kind.keys):
        keys = kind.keys(options)
    else:
        keys = 1 if kind.keys is None else entries[kind.keys]
    alphabet = kind.alphabet(keys)
    if reading.descents:
        on.order(rows.times, rows.order)
    with watch(progress, "writing streams", folder, 0):
        written = on.run(StreamTask(tables, rows, folder, alphabet), len(tables))
    return Content(
        workload=kind.workload,
        alphabet=alphabet,
        streams=tuple(map(record_of, written)),
        origin={
            "import": kind.name,
            "files": [{"name": path.name, "sha256": _sha256(path)} for path in options.files],
            "lines": reading.lines,
            **reading.origin(),
            "sorted_here": bool(reading.descents),
            "rows_out_of_order": reading.descents,
            "streams": options.streams,
            **reading.times,
            "unit": kind.unit,
            **_invented(kind, written),
            **_chosen(kind, options),
        },
        source=options.source or NOT_STATED,
        licence=options.licence or NOT_STATED,
        dictionaries={name: f"{name}.parquet" for name in entries},
        dictionary_sha256=numbered["sha256"],
    )


def _invented(kind: ImportKind, written: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the number of events that the import invented, by kind; empty if the kind invents none."""
    counts = dict.fromkeys(kind.invents, 0)
    names = kind.alphabet(1).kinds
    for stream in written:
        for name in (names[index] for index in stream["kinds"] if names[index] in counts):
            counts[name] += stream["rows"]  # invented events have their own streams
    return {"invented": counts} if counts else {}


def _chosen(kind: ImportKind, options: ImportOptions) -> dict[str, Any]:
    """Return the columns and settings of the import; settings that are files have hashes."""
    chosen: dict[str, Any] = {}
    if kind.roles:
        chosen["columns"] = dict(options.columns)
    for setting in kind.settings:
        value = options.settings[setting.name]
        if setting.file and value:
            value = {"name": Path(value).name, "sha256": _sha256(Path(value))}
        chosen.setdefault("settings", {})[setting.name] = value
    return chosen


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
