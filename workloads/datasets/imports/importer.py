"""Runs the steps of an import: check, read, derive, number, sort, write, publish.

Each step is a function of an index that runs in this process or on Spark.

1. `ReadTask`: files to blocks of rows. One task, since line numbers and order require reading a file from
   its beginning, and compressed files allow nothing else.
2. `DeriveTask`, if the kind derives columns (words of texts): one task per block.
3. `NumberTask`: texts to numbers by first appearance, in order, so again one task.
4. `StreamTask`: the rows, in order of time, to streams: one task per stream.
"""

import hashlib
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamlab.workloads.datasets.arrow import Column, column_of
from streamlab.workloads.datasets.builder import record_of
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import NOT_STATED, Dataset
from streamlab.workloads.datasets.dictionary import Numbering
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.executor import AUTO, Executor, executor
from streamlab.workloads.datasets.imports.file_reader import Reading, read_batches
from streamlab.workloads.datasets.imports.kind import ImportKind, ImportOptions
from streamlab.workloads.datasets.imports.registry import import_kind
from streamlab.workloads.datasets.manifest import Content
from streamlab.workloads.datasets.progress import Progress, report, watch
from streamlab.workloads.datasets.rows import Rows, RowsWriter
from streamlab.workloads.datasets.session import DEFAULT_MASTER
from streamlab.workloads.datasets.stream_table import StreamTask

if TYPE_CHECKING:
    import pyarrow as pa

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


class ReadTask:
    """Reads all files into blocks of rows, `raw-<number>.arrow` in a folder; index 0 only."""

    def __init__(self, kind: str, options: ImportOptions, folder: Path) -> None:
        self.kind, self.options, self.folder = kind, options, folder

    def __call__(self, index: int) -> dict[str, Any]:
        """Return the fields of the `Reading`."""
        return asdict(self.read())

    def read(self) -> Reading:
        """Read all files and return the findings."""
        reading = Reading()
        kind = import_kind(self.kind)
        progress = self.folder / "reading.done"
        try:
            for batch in read_batches(kind, self.options, reading, partial(report, progress)):
                _write(raw_block(self.folder, reading.blocks), batch)
                reading.blocks += 1
        except DatasetError as error:
            reading.error = str(error)
        return reading


class DeriveTask:
    """Derives columns of a block of rows, and writes `derived-<number>.arrow` next to it."""

    def __init__(self, derive: "Callable[[pa.RecordBatch], pa.RecordBatch]", folder: Path) -> None:
        self.derive, self.folder = derive, folder

    def __call__(self, index: int) -> None:
        """Derive the block with this number."""
        batch = read_block(raw_block(self.folder, index))
        _write(derived_block(self.folder, index), self.derive(batch))


class NumberTask:
    """Numbers the texts of all blocks, in order; writes `Rows` and dictionaries; index 0 only."""

    def __init__(self, kind: str, blocks: tuple[Path, ...], rows: Path, folder: Path) -> None:
        self.kind, self.blocks, self.rows, self.folder = kind, blocks, rows, folder

    def __call__(self, index: int) -> dict[str, Any]:
        """Return the types and count of the rows, and the size and hash of each dictionary."""
        dictionaries = import_kind(self.kind).dictionaries
        numberings = {dictionary: Numbering() for dictionary in dictionaries}
        with RowsWriter(self.rows) as writer:
            for path in self.blocks:
                batch = read_block(path)
                texts = {dictionary.column for dictionary in dictionaries}
                block: dict[str, Column] = {
                    name: column_of(batch.column(name))
                    for name in batch.schema.names
                    if name not in texts
                }
                for dictionary, numbering in numberings.items():
                    block[dictionary.name] = numbering.ids(batch.column(dictionary.column))
                writer.append(block)
                report(self.folder / "numbering.done", writer.rows().count)
            rows = writer.rows()
        return {
            "types": rows.types,
            "count": rows.count,
            "entries": {entry.name: len(numbering) for entry, numbering in numberings.items()},
            "sha256": {
                entry.name: numbering.write(self.folder / f"{entry.name}.parquet")
                for entry, numbering in numberings.items()
            },
        }


def raw_block(folder: Path, index: int) -> Path:
    """Return the file of a block of rows as read."""
    return folder / f"raw-{index}.arrow"


def derived_block(folder: Path, index: int) -> Path:
    """Return the file of a block of rows with derived columns."""
    return folder / f"derived-{index}.arrow"


def read_block(path: Path) -> "pa.RecordBatch":
    """Return the block of rows of a file."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        return reader.get_batch(0)


def _write(path: Path, batch: "pa.RecordBatch") -> None:
    import pyarrow as pa

    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)
