"""Runs an import: check, read, encode, derive streams, publish."""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from workloads.datasets.catalog import Catalog
from workloads.datasets.dataset import Dataset
from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.frames import write_dictionary, write_table
from workloads.datasets.imports.kind import ImportKind, ImportOptions
from workloads.datasets.imports.lines import check_readable
from workloads.datasets.imports.stage import Reading, ReadTask
from workloads.datasets.manifest import Content
from workloads.datasets.progress import Progress, watch
from workloads.datasets.session import DEFAULT_MASTER, spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
    _check(options)
    files = tuple(path.absolute() for path in options.files)
    where = catalog or Catalog.default()
    with where.staging() as staging:
        folder = staging / "dataset"
        folder.mkdir()
        with spark(f"lab: import {kind.name}", master=master, conf={}) as session:
            found = _read(session, kind, files, staging, progress)
            found.check(options.max_bad, options.sort)
            content = _write(session, kind, options, found, staging, progress)
        for done in folder.glob("*.done"):
            done.unlink()
        return where.publish(folder, content)


def _check(options: ImportOptions) -> None:
    if not options.files:
        raise DatasetError("no file given; name at least one with --file")
    if options.streams < 1:
        raise DatasetError(f"--streams is {options.streams}; give at least 1")
    if options.max_bad < 0:
        raise DatasetError(f"--max-bad is {options.max_bad}; give 0 or more")
    for path in options.files:
        check_readable(path)


def _read(
    session: "SparkSession",
    kind: ImportKind,
    files: tuple[Path, ...],
    staging: Path,
    progress: Progress | None,
) -> Reading:
    total = sum(path.stat().st_size for path in files)
    task = ReadTask(kind.name, files, staging)
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
    entries = {}
    for dictionary in kind.dictionaries:
        with watch(progress, f"numbering {dictionary.name}", folder, 0):
            entries[dictionary.name] = write_dictionary(rows, dictionary, folder)
    streams = []
    for table in kind.streams(_encoded(session, kind, rows, folder), options.streams):
        with watch(progress, f"writing {table.name}", folder, 0):
            streams.append(write_table(table, folder))
    return Content(
        workload=kind.workload,
        alphabet=kind.alphabet(entries[kind.keys]),
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
        },
        source=options.source or kind.source,
        licence=options.licence or kind.licence,
        dictionaries={name: f"{name}.parquet" for name in entries},
    )


def _encoded(
    session: "SparkSession", kind: ImportKind, rows: "DataFrame", folder: Path
) -> "DataFrame":
    """Return the rows with an id column for each dictionary."""
    from pyspark.sql import functions as f

    for dictionary in kind.dictionaries:
        ids = session.read.parquet(str(folder / f"{dictionary.name}.parquet")).select(
            f.col("id").alias(f"{dictionary.name}_id"), f.col("text").alias(dictionary.column)
        )
        rows = rows.join(ids, dictionary.column)
    return rows


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
