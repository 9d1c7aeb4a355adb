"""Runs an import: check, read, encode, derive streams, publish."""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets.catalog import Catalog
from workloads.datasets.dataset import Dataset
from workloads.datasets.imports.frames import encode, texts_sha256, write_dictionary, write_table
from workloads.datasets.imports.kind import ImportKind, ImportOptions
from workloads.datasets.imports.stage import Reading, ReadTask
from workloads.datasets.manifest import Content
from workloads.datasets.progress import Progress, watch
from workloads.datasets.session import DEFAULT_MASTER, spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


NOT_STATED = "not stated"
"""Source and licence of what a person says nothing about: a kind of file has no licence."""


def import_files(
    kind: ImportKind,
    options: ImportOptions,
    *,
    catalog: Catalog | None = None,
    master: str = DEFAULT_MASTER,
    progress: Progress | None = None,
) -> Dataset:
    """Import raw files into the catalogue.

    Equal files and options give a dataset with the same id.

    Raises:
        DatasetError: a file cannot be read, has more bad rows than allowed or is not sorted; the
            catalogue is as it was.
    """
    options = kind.complete(options)
    where = catalog or Catalog.default()
    with where.staging() as staging:
        folder = staging / "dataset"
        folder.mkdir()
        with spark(f"lab: import {kind.name}", master=master, conf={}) as session:
            found = _read(session, kind, options, staging, progress)
            found.check(options.max_bad, options.sort)
            content = _write(session, kind, options, found, staging, progress)
        for done in folder.glob("*.done"):
            done.unlink()
        return where.publish(folder, content)


def _read(
    session: "SparkSession",
    kind: ImportKind,
    options: ImportOptions,
    staging: Path,
    progress: Progress | None,
) -> Reading:
    total = sum(path.stat().st_size for path in options.files)
    task = ReadTask(kind.name, options, staging)
    with watch(progress, f"reading {kind.name} (bytes)", staging, total):
        records = session.range(0, 1, 1, 1).mapInArrow(task, "record string").collect()
    return Reading(**json.loads(records[0].record))


def _write(
    session: "SparkSession",
    kind: ImportKind,
    options: ImportOptions,
    found: Reading,
    staging: Path,
    progress: Progress | None,
) -> Content:
    folder = staging / "dataset"
    rows = session.read.parquet(str(staging / "rows.parquet"))
    if kind.prepare is not None:
        rows = kind.prepare(rows, options)
    entries = {}
    for dictionary in kind.dictionaries:
        with watch(progress, f"numbering {dictionary.name}", folder, 0):
            entries[dictionary.name] = write_dictionary(rows, dictionary, folder)
    streams = []
    for table in kind.streams(_encoded(session, kind, rows, folder), options):
        with watch(progress, f"writing {table.name}", folder, 0):
            streams.append(write_table(table, folder))
    return Content(
        workload=kind.workload,
        alphabet=kind.alphabet(1 if kind.keys is None else entries[kind.keys]),
        streams=tuple(streams),
        origin={
            "import": kind.name,
            "files": [{"name": path.name, "sha256": _sha256(path)} for path in options.files],
            "lines": found.lines,
            "rows": found.rows,
            "bad_rows": found.bad,
            "bad_lines": found.bad_lines,
            "sorted_here": bool(found.descents),
            "rows_out_of_order": found.descents,
            "streams": options.streams,
            **_chosen(kind, options),
        },
        source=options.source or NOT_STATED,
        licence=options.licence or NOT_STATED,
        dictionaries={name: f"{name}.parquet" for name in entries},
        dictionary_sha256={name: texts_sha256(folder / f"{name}.parquet") for name in entries},
    )


def _chosen(kind: ImportKind, options: ImportOptions) -> dict[str, Any]:
    """Return the columns and settings, for kinds that have them; files with their hashes."""
    chosen: dict[str, Any] = {}
    if kind.roles:
        chosen["columns"] = dict(options.columns)
    for setting in kind.settings:
        value = options.settings[setting.name]
        if setting.file and value:
            value = {"name": Path(value).name, "sha256": _sha256(Path(value))}
        chosen.setdefault("settings", {})[setting.name] = value
    return chosen


def _encoded(
    session: "SparkSession", kind: ImportKind, rows: "DataFrame", folder: Path
) -> "DataFrame":
    """Return the rows with a column of ids for each dictionary."""
    for dictionary in kind.dictionaries:
        entries = session.read.parquet(str(folder / f"{dictionary.name}.parquet"))
        rows = encode(rows, dictionary, entries)
    return rows


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
