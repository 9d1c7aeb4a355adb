"""Runs the steps of an import: check, read, derive, number, sort, write, publish.

1. Read: files to blocks of rows, in this process, since the rows of some kinds depend on those before.
2. Derive, if the kind derives columns (words of texts): one task per block, in this process or on Spark.
3. Number: texts to numbers by first appearance, in order, in this process.
4. Write: the rows, in order of time, to streams: one task per stream.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.arrow import Column, column_of
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import NOT_STATED, Dataset
from streamlab.workloads.datasets.dictionary import Numbering
from streamlab.workloads.datasets.executor import AUTO, Executor, executor
from streamlab.workloads.datasets.imports.file_reader import Reading, read_batches
from streamlab.workloads.datasets.imports.kind import Derive, ImportKind, ImportOptions
from streamlab.workloads.datasets.manifest import Content, WrittenStream, file_sha256
from streamlab.workloads.datasets.progress import Progress, report, watch
from streamlab.workloads.datasets.session import DEFAULT_MASTER
from streamlab.workloads.datasets.sorted_runs import RunWriter, SortedRuns
from streamlab.workloads.datasets.stream_table import write_table
from streamlab.workloads.model import Alphabet


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
        with executor(step, way, master=master) as on:
            reading = Reading()
            with watch(progress, f"reading {kind.name} (bytes)", staging, size_bytes):
                _read_files(kind, options, staging, reading)
            reading.check(options.max_bad, options.sort)
            content = _write(on, kind, options, reading, staging, progress)
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
    blocks = tuple(staging / f"{index}.arrow" for index in range(reading.blocks))
    derive = kind.prepare and kind.prepare(lambda: map(_read, blocks), options)
    if derive is not None:
        with watch(progress, "deriving columns", folder, 0):
            on.run(partial(_derive, derive, blocks), reading.blocks)
        blocks = tuple(map(_derived, blocks))
    with watch(progress, "numbering texts", folder, 0):
        numberings = {column: Numbering() for column in kind.dictionaries.values()}
        rows = _number(numberings, blocks, staging / "rows", folder)
    entries = {name: len(numberings[column]) for name, column in kind.dictionaries.items()}
    tables = kind.streams(options, entries)
    keys = kind.keys(options) if callable(kind.keys) else entries[kind.keys] if kind.keys else 1
    alphabet = Alphabet(kinds=kind.kinds, keys=keys)
    with watch(progress, "writing streams", folder, 0):
        written = on.run(partial(write_table, tables, rows, folder, alphabet), len(tables))
    return Content(
        workload=kind.workload,
        alphabet=alphabet,
        streams=msgspec.convert(written, tuple[WrittenStream, ...]),
        origin={
            "import": kind.name,
            "files": [_named(path) for path in options.files],
            "lines": reading.lines,
            **reading.origin(),
            "streams": options.streams,
            **reading.times,
            "unit": kind.unit,
            **_invented(kind, written),
            **_chosen(kind, options),
        },
        source=options.source or NOT_STATED,
        licence=options.licence or NOT_STATED,
        dictionaries={name: f"{name}.parquet" for name in entries},
        dictionary_sha256={
            name: numberings[column].write(folder / f"{name}.parquet")
            for name, column in kind.dictionaries.items()
        },
    )


def _invented(kind: ImportKind, written: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the number of events that the import invented, by kind; empty if the kind invents none."""
    counts = dict.fromkeys(kind.invents, 0)
    for stream in written:
        for name in counts.keys() & {kind.kinds[index] for index in stream["kinds"]}:
            counts[name] += stream["rows"]  # invented events have their own streams
    return {"invented": counts} if counts else {}


def _chosen(kind: ImportKind, options: ImportOptions) -> dict[str, Any]:
    """Return the columns and settings of the import; settings that are files have hashes."""
    settings = dict(options.settings)
    for setting in kind.settings:
        if setting.file and settings[setting.name]:
            settings[setting.name] = _named(Path(settings[setting.name]))
    columns = {"columns": dict(options.columns)} if kind.roles else {}
    return {**columns, **({"settings": settings} if settings else {})}


def _named(path: Path) -> dict[str, str]:
    return {"name": path.name, "sha256": file_sha256(path)}


def _read_files(kind: ImportKind, options: ImportOptions, folder: Path, reading: Reading) -> None:
    """Read all files into blocks of rows, `<number>.arrow` in a folder."""
    progress = partial(report, folder / "reading.done")
    for batch in read_batches(kind, options, reading, progress):
        _save(folder / f"{reading.blocks}.arrow", batch)
        reading.blocks += 1


def _derive(derive: Derive, blocks: tuple[Path, ...], index: int) -> None:
    _save(_derived(blocks[index]), derive(_read(blocks[index])))


def _number(
    numberings: Mapping[str, Numbering], blocks: tuple[Path, ...], folder: Path, target: Path
) -> SortedRuns:
    """Number the texts of all blocks, in order, and return the rows."""
    writer = RunWriter(folder)
    for path in blocks:
        batch = _read(path)
        block: dict[str, Column] = {
            name: numberings[name].ids(texts) if name in numberings else column_of(texts)
            for name, texts in zip(batch.schema.names, batch.columns, strict=True)
        }
        writer.append(block)
        report(target / "numbering.done", writer.rows)
    return writer.finish()


def _derived(block: Path) -> Path:
    return block.with_suffix(".derived.arrow")


def _read(path: Path) -> "pa.RecordBatch":
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        return reader.get_batch(0)


def _save(path: Path, batch: "pa.RecordBatch") -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)
