"""Makes the dataset of a table, or finds it by the table's content."""

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.control_group import available_bytes
from streamlab.workloads.datasets.builder import record_of
from streamlab.workloads.datasets.catalog import Catalog, Recipe
from streamlab.workloads.datasets.dataset import NOT_STATED, Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.executor import InProcess
from streamlab.workloads.datasets.manifest import Content, canonical, file_sha256
from streamlab.workloads.datasets.progress import Progress
from streamlab.workloads.datasets.rows import select_rows
from streamlab.workloads.datasets.split import Share, shares
from streamlab.workloads.datasets.stream_table import StreamTable, StreamTask
from streamlab.workloads.datasets.tables.keys import Keys, keys_of
from streamlab.workloads.datasets.tables.required_columns import (
    RequiredColumns,
    check_meaning,
    required_columns,
)
from streamlab.workloads.datasets.tables.table import FILE, Table
from streamlab.workloads.datasets.tables.table_reader import Reading, read
from streamlab.workloads.model import Alphabet, Block, ColumnType, ListType, Program

VERSION = 3
"""Increased when the same table becomes a different dataset."""

SORTING_BYTES = 24
"""Memory per row, if rows must be sorted."""


def content_key(table: Table) -> str:
    """Return the SHA-256 of a table's content and declarations; file locations do not count.

    Raises:
        DatasetError: a file cannot be read.
    """
    files = table.source.files()
    return _key(table, files, [file_sha256(path) for path in files])


def dataset_of(
    table: Table,
    name: str,
    program: Program,
    catalog: Catalog,
    progress: Progress | None = None,
    *,
    source: str | None = None,
    licence: str | None = None,
    made: Recipe | None = None,
) -> Dataset:
    """Return a table as the input of a program, from the catalogue if present, else newly made.

    Args:
        table: the table.
        name: the input's name (`Workload.input_name`).
        program: reads the table, and determines the required columns.
        catalog: stores the dataset.
        progress: receives progress reports.
        source: where the data comes from, for people; None: not stated.
        licence: of the data; None: not stated.
        made: for a generated table, the recipe that identifies it instead of its content.

    Raises:
        DatasetError: the table cannot be read, or does not fit the program; the catalogue is
            unchanged.
    """
    required = required_columns(program)
    check_meaning(table, required)
    streams = shares(program, table.streams)
    files = table.source.files()
    before = [_state(path) for path in files]
    sums = []
    for number, path in enumerate(files):
        if progress is not None:
            progress("looking at files", number, len(files))
        sums.append(file_sha256(path))
    schema = [required.schema(), [[share.name, share.count] for share in streams]]
    recipe = made or Recipe(
        workload=name,
        params={"table": _key(table, files, sums), "schema": schema},
        seed=0,
        events=0,
        generator_version=VERSION,
    )
    named = [
        {"name": path.name, "sha256": digest} for path, digest in zip(files, sums, strict=True)
    ]
    stored = catalog.find(recipe)
    if stored is not None and made:
        return stored
    facts = catalog.origin(recipe)
    if stored is not None and facts is not None:
        places = facts.get("bad_lines") or facts.get("several_lines")
        if facts.get("files") == named or not places:
            facts = {**facts, "files": named, "table": table.source.label}
            return catalog.restate(stored, source, licence, facts)
    size = sum(path.stat().st_size for path in files)

    def at(done: int) -> None:
        if progress is not None:
            progress("reading table (bytes)", min(done, size), size)

    with catalog.staging() as staging:
        folder = staging / "dataset"
        folder.mkdir()
        reading, rows = read(table, required, staging / "rows", at)
        if [_state(path) for path in files] != before:
            raise DatasetError(f"{table.source.label} changed while it was read; import it again")
        keys = keys_of(reading.numberings, len(required.kinds), table.source.label)
        tables = tuple(_stream(share, required, reading, keys) for share in streams)
        if reading.descents:
            _check_memory(reading.rows)
            InProcess().order(rows.times, rows.order)
        alphabet = Alphabet(kinds=required.kinds, keys=keys.count)
        written = _written(StreamTask(tables, rows, folder, alphabet), progress)
        content = Content(
            workload=name,
            alphabet=alphabet,
            streams=tuple(map(record_of, written)),
            origin={
                "import": "table",
                "files": named,
                "table": table.source.label,
                **reading.origin(),
                "sorted_here": bool(reading.descents),
                "rows_out_of_order": reading.descents,
                "streams": table.streams,
                **reading.times,
                "columns": _columns(table),
            }
            if made is None
            else _generated(made),
            source=source or NOT_STATED,
            licence=licence or NOT_STATED,
            dictionaries={entry: f"{entry}.parquet" for entry in keys.numberings},
            dictionary_sha256={
                entry: numbering.write(folder / f"{entry}.parquet")
                for entry, numbering in keys.numberings.items()
            },
        )
        published = catalog.publish(folder, content, recipe)
    return published if made else catalog.restate(published, source, licence, content.origin)


def _generated(made: Recipe) -> dict[str, Any]:
    """Return the origin of a table that a function generated."""
    params = {name: value for name, value in made.params.items() if name != "wanted"}
    return {
        "generator": made.workload,
        "generator_version": made.generator_version,
        "params": params,
        "seed": made.seed,
        "events": made.events,
    }


def _key(table: Table, files: tuple[Path, ...], sums: list[str]) -> str:
    parts = [VERSION, table.source.content(), sums, table.meaning()]
    if FILE in (table.ts, table.key, table.kind, *table.columns.values()):
        parts.append([path.name for path in files])
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


def _state(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _columns(table: Table) -> dict[str, str]:
    named = {"ts": table.ts, "key": table.key, "kind": table.kind, **table.columns}
    return {role: column for role, column in named.items() if column is not None}


def _check_memory(rows: int) -> None:
    free = available_bytes()
    if rows * SORTING_BYTES > free:
        raise DatasetError(
            f"{rows:,} rows are not in order of time, and sorting them takes "
            f"{rows * SORTING_BYTES / 1e9:.1f} GB of memory, of which {free / 1e9:.1f} GB are "
            "free; sort the table first"
        )


def _stream(share: Share, required: RequiredColumns, reading: Reading, keys: Keys) -> StreamTable:
    dtypes: dict[str, ColumnType] = {"ts": np.dtype(np.int64)}
    if keys.count > 1:
        dtypes["tag"] = np.dtype(np.int32)
    for name in reading.present_fields(share.kind, required):
        element = required.lists.get(name)
        dtypes[name] = required.fields[name] if element is None else ListType(element)
    return StreamTable(
        name=share.name,
        kinds=(share.kind,),
        dtypes=dtypes,
        blocks=partial(_blocks, share, tuple(dtypes), len(required.kinds), keys),
    )


def _blocks(
    share: Share, names: tuple[str, ...], kinds: int, keys: Keys, blocks: Iterator[Block]
) -> Iterator[Block]:
    mask = share.row_filter()
    for block in blocks:
        rows = select_rows(block, mask(np.asarray(block["kind"])))
        columns: dict[str, Any] = {"ts": rows["ts"]}
        if "tag" in names:
            columns["tag"] = _tags(share.kind, kinds, keys.lookup(np.asarray(rows["key"])))
        yield {**columns, **{name: rows[f".{name}"] for name in names if name not in columns}}


def _tags(kind: int, kinds: int, keys: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    return (kind + kinds * keys.astype(np.int64)).astype(np.int32)


def _written(write: StreamTask, progress: Progress | None) -> list[dict[str, Any]]:
    written = []
    for index in range(len(write.tables)):
        if progress is not None:
            progress("writing streams", index, len(write.tables))
        written.append(write(index))
    for done in write.folder.glob("*.done"):
        done.unlink()
    return written
