"""Makes the dataset of a table, or finds it by the table's content."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.catalog import Catalog, Recipe
from streamlab.workloads.datasets.dataset import NOT_STATED, Dataset
from streamlab.workloads.datasets.dictionary import Numbering
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.executor import AUTO, open_executor
from streamlab.workloads.datasets.imports.raw_files import state_of
from streamlab.workloads.datasets.manifest import Content, WrittenStream, canonical, file_sha256
from streamlab.workloads.datasets.progress import Progress, watch
from streamlab.workloads.datasets.sorted_runs import SortedRuns
from streamlab.workloads.datasets.spark_session import DEFAULT_MASTER
from streamlab.workloads.datasets.stream_file import (
    ROWS_PER_FILE,
    FilePart,
    write_file,
    write_parts,
)
from streamlab.workloads.datasets.stream_split import Share, shares
from streamlab.workloads.datasets.tables.required_columns import (
    RequiredColumns,
    check_meaning,
    required_columns,
    tables_of_kinds,
)
from streamlab.workloads.datasets.tables.table import FILE, START, Table, TableSet
from streamlab.workloads.datasets.tables.table_reader import KEYS
from streamlab.workloads.datasets.tables.table_report import TableReport
from streamlab.workloads.datasets.tables.table_rows import TableRows, read
from streamlab.workloads.model import Alphabet, Block, ColumnType, ListType, Program

_MAX_NUMBERS_PER_KEY = 4
_SMALL_NUMBERS = 1024
"""Numeric keys stay unchanged if all are below 1024, or below four times the number of distinct keys.

Memory of engines grows with the largest number, not with the number of keys.
"""

VERSION = 4
"""Version of the conversion. Increase it when the same table becomes a different dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The mapping from keys to numbers.

    Attributes:
        count: number of keys of the alphabet.
        numberings: the dictionaries to store.
        values: the key of each text, by the text's number in order of appearance; None if this number is the key.
    """

    count: int
    numberings: Mapping[str, Numbering]
    values: npt.NDArray[np.int32] | None = None


def keys_of(numberings: Mapping[str, Numbering], kinds: int, label: str) -> Keys:
    """Return the mapping of keys, given all dictionaries from reading the table.

    Raises:
        DatasetError: tags cannot hold this many keys.
    """
    numbering = numberings.get(KEYS)
    if numbering is None:
        return Keys(count=1, numberings=numberings)
    distinct = len(numbering)
    if distinct * kinds > 2**31 - 1:
        raise DatasetError(
            f"{label}: {distinct:,} keys x {kinds} kinds do not fit the 31 bits of a tag; use fewer keys"
        )
    values = _dense_numbers(numbering, max(_SMALL_NUMBERS, _MAX_NUMBERS_PER_KEY * distinct))
    if values is None or (int(values.max()) + 1) * kinds > 2**31 - 1:
        return Keys(count=distinct, numberings=numberings)
    others = {name: entry for name, entry in numberings.items() if name != KEYS}
    return Keys(count=int(values.max()) + 1, numberings=others, values=values)


def _dense_numbers(numbering: Numbering, limit: int) -> npt.NDArray[np.int32] | None:
    """Return the texts as numbers; None if a text is not a number below `limit`."""
    values = []
    for text in numbering.texts():
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else limit
        if number >= limit or str(number) != text:
            return None
        values.append(number)
    return np.array(values, np.int32)


def content_key(table: Table | TableSet, sums: Sequence[str] | None = None) -> str:
    """Return the SHA-256 of a table's content and declarations, independent of the folders of its files.

    Args:
        table: a table, or one for each kind.
        sums: the SHA-256 of each file; None computes them.

    Raises:
        DatasetError: a file cannot be read.
    """
    files = table.files()
    sums = [file_sha256(path) for path in files] if sums is None else sums
    if isinstance(table, TableSet):
        remaining_sums, keys = list(sums), {}
        for kind, kind_table in table.by_kind.items():
            count = len(kind_table.files())
            keys[kind] = content_key(kind_table, remaining_sums[:count])
            remaining_sums = remaining_sums[count:]
        return hashlib.sha256(canonical(keys).encode()).hexdigest()
    parts = [VERSION, table.source.content(), sums, table.to_json()]
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
    generator_recipe: Recipe | None = None,
    executor_name: str = AUTO,
    master: str = DEFAULT_MASTER,
) -> Dataset:
    """Return the dataset of a table from the catalogue, or make it.

    Args:
        table: a table, or one for each kind of the program.
        name: the name of the input (`Workload.input_name`).
        program: the program that reads the dataset.
        catalog: the catalogue to search, and to add the dataset to.
        progress: shows the progress.
        source: the origin of the data, for people; None if not stated.
        licence: the licence of the data, for people; None if not stated.
        generator_recipe: the recipe of a generated table, which identifies the table instead of its content.
        executor_name: the executor of the tasks (`open_executor`).
        master: the master URL of Spark.

    Raises:
        DatasetError: the table cannot be read, or does not fit the program. The catalogue is then unchanged.
    """
    required = required_columns(program)
    parts: dict[tuple[int, ...], Table]
    if isinstance(table, TableSet):
        tables, required = tables_of_kinds(table, required)
        parts = {(kind,): kind_table for kind, kind_table in enumerate(tables)}
    else:
        parts = {tuple(range(len(required.kinds))): table}
    for part in parts.values():
        check_meaning(part, required)
    streams = [
        share
        for kinds, part in parts.items()
        for share in shares(program, part.streams)
        if share.kind in kinds
    ]
    files = table.files()
    states = [state_of(path) for path in files]
    sums = []
    for number, path in enumerate(files):
        if progress is not None:
            progress("looking at files", number, len(files))
        sums.append(file_sha256(path))
    schema = [required.schema(), [[share.name, share.count] for share in streams]]
    recipe = generator_recipe or Recipe(
        workload=name,
        params={"table": content_key(table, sums), "schema": schema},
        seed=0,
        events=0,
        generator_version=VERSION,
    )
    named = [
        {"name": path.name, "sha256": digest} for path, digest in zip(files, sums, strict=True)
    ]
    # For a generated table the caller has already searched the catalogue.
    stored = None if generator_recipe else catalog.find(recipe)
    facts = catalog.origin(recipe)
    if stored is not None and facts is not None:
        names_rows = facts.get("bad_lines") or facts.get("several_lines") or facts.get("late_lines")
        if facts.get("files") == named or not names_rows:
            facts = {**facts, "files": named, "table": table.label}
            return catalog.restate(stored, source, licence, facts)
    size = sum(path.stat().st_size for path in files)
    with (
        catalog.staging(recipe) as staging,
        open_executor(f"importing {table.label}", executor_name, master=master) as executor,
    ):
        folder = staging / "dataset"
        folder.mkdir(exist_ok=True)
        read_rows: list[TableRows] = []
        done = 0
        for number, part in enumerate(parts.values()):
            place = staging / f"rows-{number}"
            with watch(progress, "reading table (bytes)", place, size, done):
                read_rows.append(read(part, required, place, executor))
            done += sum(path.stat().st_size for path in part.files())
        if [state_of(path) for path in files] != states:
            raise DatasetError(f"{table.label} changed while it was read; import it again")
        reports = [rows.report for rows in read_rows]
        if not any(report.rows for report in reports):
            skipped = {name: n for report in reports for name, n in report.skipped.items()}
            counts = "".join(f" ({n:,} without {name})" for name, n in skipped.items())
            raise DatasetError(f"{table.label} has no rows{counts}; there is nothing to import")
        numberings: dict[str, Numbering] = {}
        for rows in read_rows:
            rows.number(numberings)
        keys = keys_of(numberings, len(required.kinds), table.label)
        start = _start(read_rows) if any(START in rows.table.times for rows in read_rows) else None
        kind_rows: dict[int, tuple[TableReport, SortedRuns]] = {}
        for kinds, rows in zip(parts, read_rows, strict=True):
            ts = start if START in rows.table.times else None
            kind_rows |= {kind: (rows.report, rows.rows.rows_of_kind(kind, ts)) for kind in kinds}
        stream_tables = tuple(
            _stream(share, required, *kind_rows[share.kind], keys) for share in streams
        )
        alphabet = Alphabet(kinds=required.kinds, keys=keys.count)
        with watch(progress, "writing streams", folder, 0):
            written = write_parts(
                executor,
                (stream.share.rows(stream.rows.count) for stream in stream_tables),
                ROWS_PER_FILE,
                partial(_write, stream_tables, keys.values, folder, alphabet),
                folder,
            )
        content = Content(
            workload=name,
            alphabet=alphabet,
            streams=written,
            origin={
                "import": "table",
                "files": named,
                "table": table.label,
                **_origin(required, list(parts.values()), reports),
            }
            if generator_recipe is None
            else _generated_origin(generator_recipe),
            source=source or NOT_STATED,
            licence=licence or NOT_STATED,
            dictionaries={entry: f"{entry}.parquet" for entry in keys.numberings},
            dictionary_sha256={
                entry: numbering.write(folder / f"{entry}.parquet")
                for entry, numbering in keys.numberings.items()
            },
        )
        published = catalog.publish(folder, content, recipe)
    if generator_recipe:
        return published
    return catalog.restate(published, source, licence, content.origin)


def _start(tables: Sequence[TableRows]) -> int:
    """Return the time of tables without times: the earliest time of the other tables."""
    timed = [rows.rows.earliest() for rows in tables if START not in rows.table.times]
    if not timed:
        raise DatasetError(
            f"table {tables[0].table.label}: ts is {START}, the first time of other tables, but no table has "
            "times; name a column of times (ts=...)"
        )
    return min((ts for ts in timed if ts is not None), default=0)


def _origin(
    required: RequiredColumns, tables: Sequence[Table], reports: Sequence[TableReport]
) -> dict[str, object]:
    """Return the report on reading. For several tables it has totals, and the report of each kind under `tables`."""
    table_facts = [
        {
            **report.origin(),
            "streams": table.streams,
            **report.times,
            "columns": {role: name for role, name in table.roles().items() if name},
        }
        for table, report in zip(tables, reports, strict=True)
    ]
    if len(table_facts) == 1:
        return table_facts[0]
    total: dict[str, object] = {}
    for name, value in reports[0].origin().items():
        values: list[Any] = [facts[name] for facts in table_facts]
        if isinstance(value, bool):
            total[name] = any(values)
        elif isinstance(value, dict):
            total[name] = dict(sum((Counter(part) for part in values), Counter()))
        elif isinstance(value, list):
            total[name] = [line for part in values for line in part]
        else:
            total[name] = sum(values)
    by_kind = {
        kind: {"table": table.label, **facts}
        for kind, table, facts in zip(required.kinds, tables, table_facts, strict=True)
    }
    common = {
        name: value
        for name, value in reports[0].times.items()
        if all(facts.get(name) == value for facts in table_facts)
    }
    return {**total, **common, "tables": by_kind}


def _generated_origin(recipe: Recipe) -> dict[str, object]:
    """Return the origin of a table that a function generated."""
    params = {name: value for name, value in recipe.params.items() if name != "wanted"}
    return {
        "generator": recipe.workload,
        "generator_version": recipe.generator_version,
        "params": params,
        "seed": recipe.seed,
        "events": recipe.events,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stream:
    """A stream to write.

    Attributes:
        share: the stream's share of the rows of its kind.
        rows: all rows of its kind.
        kinds: number of kinds of the program.
        dtypes: the stream's columns.
    """

    share: Share
    rows: SortedRuns
    kinds: int
    dtypes: Mapping[str, ColumnType]


def _stream(
    share: Share, required: RequiredColumns, report: TableReport, rows: SortedRuns, keys: Keys
) -> _Stream:
    """Return a stream with the fields that rows of its kind have; `rows` are all rows of the kind."""
    dtypes: dict[str, ColumnType] = {"ts": np.dtype(np.int64)}
    if keys.count > 1:
        dtypes["tag"] = np.dtype(np.int32)
    for name in report.present_fields(share.kind, required):
        element = required.lists.get(name)
        dtypes[name] = required.fields[name] if element is None else ListType(element)
    return _Stream(share=share, rows=rows, kinds=len(required.kinds), dtypes=dtypes)


def _write(
    streams: tuple[_Stream, ...],
    keys: npt.NDArray[np.int32] | None,
    folder: Path,
    alphabet: Alphabet,
    part: FilePart,
) -> WrittenStream:
    """Write one file of a stream."""
    stream = streams[part.stream]
    return write_file(
        folder,
        stream.share.name,
        (stream.share.kind,),
        stream.dtypes,
        _blocks(stream, keys, part),
        alphabet,
        number=part.number,
        first_row=part.begin,
    )


def _blocks(stream: _Stream, keys: npt.NDArray[np.int32] | None, part: FilePart) -> Iterator[Block]:
    """Yield the rows of one file, with a tag made of kind and key if the stream has tags."""
    for rows in stream.share.blocks(stream.rows, part.begin, part.end):
        columns = {"ts": rows["ts"]}
        if "tag" in stream.dtypes:
            number = np.asarray(rows["key"])
            key = (number if keys is None else keys[number]).astype(np.int64)
            columns["tag"] = (stream.share.kind + stream.kinds * key).astype(np.int32)
        others = {name: rows[f".{name}"] for name in stream.dtypes if name not in columns}
        yield {**columns, **others}
