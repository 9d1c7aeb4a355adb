"""Makes the dataset of a table, or finds it by the table's content."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.catalog import Catalog, Recipe
from streamlab.workloads.datasets.dataset import NOT_STATED, Dataset
from streamlab.workloads.datasets.dictionary import Numbering
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.executor import AUTO, executor
from streamlab.workloads.datasets.manifest import Content, WrittenStream, canonical, file_sha256
from streamlab.workloads.datasets.progress import Progress, watch
from streamlab.workloads.datasets.session import DEFAULT_MASTER
from streamlab.workloads.datasets.split import Share, shares
from streamlab.workloads.datasets.stream_table import Rows, StreamTable, select_rows, write_table
from streamlab.workloads.datasets.tables.required_columns import (
    RequiredColumns,
    check_meaning,
    required_columns,
    tables_of_kinds,
)
from streamlab.workloads.datasets.tables.table import FILE, START, Table, TableSet
from streamlab.workloads.datasets.tables.table_reader import KEYS, Reading, read
from streamlab.workloads.model import Alphabet, Block, ColumnType, ListType, Program

_SPARSEST = 4
_FEW = 1024
"""Numbers stay unchanged if all are below this, or below four times the number of distinct keys."""


VERSION = 3
"""Increased when the same table becomes a different dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The mapping from keys to numbers.

    Attributes:
        count: number of the alphabet's keys.
        numberings: the dictionaries to store.
        values: the key of each number by first appearance; None: the number itself is the key.
    """

    count: int
    numberings: Mapping[str, Numbering]
    values: npt.NDArray[np.int32] | None = None


def keys_of(numberings: Mapping[str, Numbering], kinds: int, label: str) -> Keys:
    """Return the mapping of keys, from all dictionaries that reading the table made.

    Raises:
        DatasetError: more keys than tags can hold.
    """
    numbering = numberings.get(KEYS)
    if numbering is None:
        return Keys(count=1, numberings=numberings)
    distinct = len(numbering)
    if distinct * kinds > 2**31 - 1:
        raise DatasetError(
            f"{label}: {distinct:,} keys x {kinds} kinds do not fit the 31 bits of a tag"
        )
    values = _dense_numbers(numbering, max(_FEW, _SPARSEST * distinct))
    if values is None or (int(values.max()) + 1) * kinds > 2**31 - 1:
        return Keys(count=distinct, numberings=numberings)
    others = {name: entry for name, entry in numberings.items() if name != KEYS}
    return Keys(count=int(values.max()) + 1, numberings=others, values=values)


def _dense_numbers(numbering: Numbering, below: int) -> npt.NDArray[np.int32] | None:
    """Return the texts as numbers; None if one is not a number or not below the limit."""
    values = []
    for text in numbering.texts():
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else below
        if number >= below or str(number) != text:
            return None
        values.append(number)
    return np.array(values, np.int32)


def content_key(table: Table | TableSet, sums: Sequence[str] | None = None) -> str:
    """Return the SHA-256 of a table's content and declarations; file locations do not count.

    `sums` are the SHA-256 of its files; None: computed. Raises `DatasetError` if a file cannot be read.
    """
    files = table.files()
    sums = [file_sha256(path) for path in files] if sums is None else sums
    if isinstance(table, TableSet):
        rest, keys = list(sums), {}
        for kind, each in table.by_kind.items():
            count = len(each.files())
            keys[kind] = content_key(each, rest[:count])
            rest = rest[count:]
        return hashlib.sha256(canonical(keys).encode()).hexdigest()
    parts = [VERSION, table.source.content(), sums, table.meaning()]
    if FILE in table.roles().values():
        parts.append([path.name for path in files])
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


def dataset_of(
    table: Table | TableSet,
    name: str,
    program: Program,
    catalog: Catalog,
    progress: Progress | None = None,
    *,
    source: str | None = None,
    licence: str | None = None,
    made: Recipe | None = None,
    way: str = AUTO,
    master: str = DEFAULT_MASTER,
) -> Dataset:
    """Return a table, or one for each kind, as the input of a program, from the catalogue if present, else newly made.

    `name` is the input's (`Workload.input_name`). `source` and `licence` describe the data for people. `made` is the
    recipe of a generated table, which identifies it instead of its content. `way` and `master` say where rows are
    sorted and written (`executor`).

    Raises:
        DatasetError: the table cannot be read, or does not fit the program; the catalogue is
            unchanged.
    """
    required = required_columns(program)
    parts: dict[tuple[int, ...], Table]
    if isinstance(table, TableSet):
        tables, required = tables_of_kinds(table, required)
        parts = {(kind,): each for kind, each in enumerate(tables)}
    else:
        parts = {tuple(range(len(required.kinds))): table}
    for each in parts.values():
        check_meaning(each, required)
    streams = [
        share
        for kinds, each in parts.items()
        for share in shares(program, each.streams)
        if share.kind in kinds
    ]
    files = table.files()
    before = [_state(path) for path in files]
    sums = []
    for number, path in enumerate(files):
        if progress is not None:
            progress("looking at files", number, len(files))
        sums.append(file_sha256(path))
    schema = [required.schema(), [[share.name, share.count] for share in streams]]
    recipe = made or Recipe(
        workload=name,
        params={"table": content_key(table, sums), "schema": schema},
        seed=0,
        events=0,
        generator_version=VERSION,
    )
    named = [
        {"name": path.name, "sha256": digest} for path, digest in zip(files, sums, strict=True)
    ]
    stored = None if made else catalog.find(recipe)  # callers have looked for what is made
    facts = catalog.origin(recipe)
    if stored is not None and facts is not None:
        places = facts.get("bad_lines") or facts.get("several_lines") or facts.get("late_lines")
        if facts.get("files") == named or not places:
            facts = {**facts, "files": named, "table": table.label}
            return catalog.restate(stored, source, licence, facts)
    size = sum(path.stat().st_size for path in files)

    def at(done: int) -> None:
        if progress is not None:
            progress("reading table (bytes)", min(done, size), size)

    with (
        catalog.staging() as staging,
        executor(f"importing {table.label}", way, master=master) as on,
    ):
        folder = staging / "dataset"
        folder.mkdir()
        numberings: dict[str, Numbering] | None = {} if len(parts) > 1 else None
        readings: list[Reading] = []
        rows_of_kind: dict[int, tuple[Reading, Rows]] = {}
        done = 0
        for number, (kinds, each) in enumerate(parts.items()):
            reading, rows = read(
                each, required, staging / f"rows-{number}", partial(_shifted, at, done), numberings
            )
            done += sum(path.stat().st_size for path in each.files())
            readings.append(reading)
            rows_of_kind |= dict.fromkeys(kinds, (reading, rows))
            if reading.descents:
                on.order(rows.times, rows.order)
        if [_state(path) for path in files] != before:
            raise DatasetError(f"{table.label} changed while it was read; import it again")
        if not any(reading.rows for reading in readings):
            skipped = {name: n for reading in readings for name, n in reading.skipped.items()}
            words = "".join(f" ({n:,} without {name})" for name, n in skipped.items())
            raise DatasetError(f"{table.label} has no rows{words}; there is nothing to import")
        _set_starts(list(parts.values()), [rows_of_kind[kinds[0]][1] for kinds in parts])
        keys = keys_of(readings[0].numberings, len(required.kinds), table.label)
        stream_tables = tuple(
            _stream(share, required, rows_of_kind[share.kind][0], keys) for share in streams
        )
        alphabet = Alphabet(kinds=required.kinds, keys=keys.count)
        rows_of_stream = tuple(rows_of_kind[share.kind][1] for share in streams)
        with watch(progress, "writing streams", folder, 0):
            task = partial(write_table, stream_tables, rows_of_stream, folder, alphabet)
            written = on.run(task, len(streams))
        content = Content(
            workload=name,
            alphabet=alphabet,
            streams=msgspec.convert(written, tuple[WrittenStream, ...]),
            origin={
                "import": "table",
                "files": named,
                "table": table.label,
                **_origin(required, list(parts.values()), readings),
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


def _set_starts(tables: Sequence[Table], rows: Sequence[Rows]) -> None:
    """Set the times of tables without times to the first time of the others."""
    if all(START not in table.times for table in tables):
        return
    timed = [each for table, each in zip(tables, rows, strict=True) if START not in table.times]
    if not timed:
        raise DatasetError(
            f"table {tables[0].label}: ts is {START}, the first time of other tables, and there is "
            "none with times; name a column of times (ts=...)"
        )
    firsts = [np.memmap(each.times, np.int64, "r").min() for each in timed if each.count]
    start = int(min(firsts, default=0))
    for table, each in zip(tables, rows, strict=True):
        if START in table.times and each.count:
            np.full(each.count, start, np.int64).tofile(each.times)


def _shifted(at: Callable[[int], None], before: int, done: int) -> None:
    at(before + done)


def _origin(
    required: RequiredColumns, tables: Sequence[Table], readings: Sequence[Reading]
) -> dict[str, Any]:
    """Return what reading found; of several tables the totals, and each kind's own under `tables`."""
    each = [
        {
            **reading.origin(),
            "streams": table.streams,
            **reading.times,
            "columns": {role: name for role, name in table.roles().items() if name},
        }
        for table, reading in zip(tables, readings, strict=True)
    ]
    if len(each) == 1:
        return each[0]
    total: dict[str, Any] = {}
    for name, value in readings[0].origin().items():
        values = [facts[name] for facts in each]
        if isinstance(value, bool):
            total[name] = any(values)
        elif isinstance(value, dict):
            total[name] = dict(sum((Counter(part) for part in values), Counter()))
        elif isinstance(value, list):
            total[name] = [words for part in values for words in part]
        else:
            total[name] = sum(values)
    by_kind = {
        kind: {"table": table.label, **facts}
        for kind, table, facts in zip(required.kinds, tables, each, strict=True)
    }
    times = readings[0].times.items()
    common = {name: value for name, value in times if all(f.get(name) == value for f in each)}
    return {**total, **common, "tables": by_kind}


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


def _state(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


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
            number = np.asarray(rows["key"])
            key = (number if keys.values is None else keys.values[number]).astype(np.int64)
            columns["tag"] = (share.kind + kinds * key).astype(np.int32)
        yield {**columns, **{name: rows[f".{name}"] for name in names if name not in columns}}
