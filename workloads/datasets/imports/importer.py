"""Runs the steps of an import: read, number, look up, write, publish.

Tasks read splits of the files and write streams, in this process or on Spark (`executor`). After a killed import, the
next import of the same files and options reuses the finished splits and streams.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.catalog import Catalog, Recipe
from streamlab.workloads.datasets.dataset import NOT_STATED, Dataset
from streamlab.workloads.datasets.dictionary import Numbering
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.executor import AUTO, Executor, open_executor
from streamlab.workloads.datasets.imports.kind import ImportKind, ImportOptions, Lookup
from streamlab.workloads.datasets.imports.kind_rows import read
from streamlab.workloads.datasets.imports.raw_files import state_of
from streamlab.workloads.datasets.manifest import Content, WrittenStream, file_sha256
from streamlab.workloads.datasets.progress import Progress, watch
from streamlab.workloads.datasets.spark_session import DEFAULT_MASTER
from streamlab.workloads.datasets.stream_table import write_streams
from streamlab.workloads.datasets.tables.split_reader import FORMAT, SplitRows
from streamlab.workloads.datasets.text.report import RowReport
from streamlab.workloads.model import Alphabet, Block
from streamlab.workloads.model.code.fingerprint import code_of


def import_files(
    kind: ImportKind,
    options: ImportOptions,
    *,
    catalog: Catalog | None = None,
    executor_name: str = AUTO,
    master: str = DEFAULT_MASTER,
    progress: Progress | None = None,
) -> Dataset:
    """Import raw files into the catalogue.

    Equal files and options make a dataset with the same id on every executor.

    Args:
        kind: the import kind.
        options: the files and settings.
        catalog: the catalogue that gets the dataset; None for the default one.
        executor_name: the executor of the tasks (`open_executor`).
        master: the master URL of Spark.
        progress: shows the progress.

    Raises:
        DatasetError: a file cannot be read, has too many bad rows or is not sorted. The catalogue is then unchanged.
    """
    options = kind.complete(options)
    where = catalog or Catalog.default()
    states = [state_of(path) for path in options.files]
    origin = {
        "import": kind.name,
        "files": [_file_identity(path) for path in options.files],
        "streams": options.streams,
        **_import_settings(kind, options),
    }
    recipe = Recipe(
        workload=kind.workload,
        params=origin,
        seed=0,
        events=0,
        generator_version=FORMAT,
        code=code_of(kind.transform, kind.derive, kind.streams),
    )
    with (
        where.staging(recipe) as staging,
        open_executor(f"import {kind.name}", executor_name, master=master) as executor,
    ):
        folder = staging / "dataset"
        folder.mkdir(exist_ok=True)
        place = staging / "rows"
        with watch(
            progress, f"reading {kind.name} (bytes)", place, sum(size for size, _ in states)
        ):
            rows = read(kind, options, place, executor)
        for path, state in zip(options.files, states, strict=True):
            if state_of(path) != state:
                raise DatasetError(f"{path} changed while it was read; import it again")
        content = _write(executor, kind, options, rows, folder, origin, progress)
        return where.restate(
            where.publish(folder, content), options.source, options.licence, content.origin
        )


def _write(
    executor: Executor,
    kind: ImportKind,
    options: ImportOptions,
    rows: SplitRows[RowReport],
    folder: Path,
    origin: Mapping[str, object],
    progress: Progress | None,
) -> Content:
    """Number the texts, and write streams and dictionaries to a folder; return the dataset's content."""
    lookup = kind.lookup
    numbers = {} if lookup is None else lookup.numbers(rows, options, executor)
    numberings = {
        column: Numbering(separator=kind.separator) for column in kind.dictionaries.values()
    }
    with watch(progress, "numbering texts", folder, 0):
        rows.number(numberings)
    entries = {name: len(numberings[column]) for name, column in kind.dictionaries.items()}
    tables = kind.streams(options, entries)
    if lookup is not None:
        texts = numberings[lookup.column].texts()
        values = np.array([numbers[text] for text in texts], np.int32)
        tables = tuple(
            replace(table, blocks=partial(_add_lookup, lookup, values, table.blocks))
            for table in tables
        )
    keys = kind.keys(options) if callable(kind.keys) else entries[kind.keys] if kind.keys else 1
    alphabet = Alphabet(kinds=kind.kinds, keys=keys)
    with watch(progress, "writing streams", folder, 0):
        streams = write_streams(executor, tables, rows.rows_of_kind(0), folder, alphabet)
    report = rows.report
    return Content(
        workload=kind.workload,
        alphabet=alphabet,
        streams=streams,
        origin={
            **origin,
            "lines": report.lines,
            **report.origin(),
            **report.times,
            "unit": kind.unit,
            **_invented_events(kind, streams),
        },
        source=options.source or NOT_STATED,
        licence=options.licence or NOT_STATED,
        dictionaries={name: f"{name}.parquet" for name in entries},
        dictionary_sha256={
            name: numberings[column].write(folder / f"{name}.parquet")
            for name, column in kind.dictionaries.items()
        },
    )


def _add_lookup(
    lookup: Lookup,
    values: npt.NDArray[np.int32],
    blocks_of: Callable[[Iterator[Block]], Iterator[Block]],
    blocks: Iterator[Block],
) -> Iterator[Block]:
    """Add the column of a look-up to the rows, and yield the blocks of a stream made from them."""
    return blocks_of(
        {**block, lookup.name: values[np.asarray(block[lookup.column])]} for block in blocks
    )


def _invented_events(kind: ImportKind, streams: Sequence[WrittenStream]) -> dict[str, object]:
    """Return the number of invented events by kind, for the record; empty if the kind invents none."""
    counts = dict.fromkeys(kind.invents, 0)
    for stream in streams:
        for name in counts.keys() & {kind.kinds[index] for index in stream.kinds}:
            counts[name] += stream.rows  # either all events of a stream are invented, or none
    return {"invented": counts} if counts else {}


def _import_settings(kind: ImportKind, options: ImportOptions) -> dict[str, object]:
    """Return the columns and settings of the import, with hashes for settings that are files."""
    settings = dict(options.settings)
    for setting in kind.settings:
        if setting.file and settings[setting.name]:
            settings[setting.name] = _file_identity(Path(settings[setting.name]))
    columns = {"columns": dict(options.columns)} if kind.roles else {}
    return {**columns, **({"settings": settings} if settings else {})}


def _file_identity(path: Path) -> dict[str, str]:
    return {"name": path.name, "sha256": file_sha256(path)}
