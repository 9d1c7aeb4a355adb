"""Defines the steps of an import, each a function of an index that runs in this process or on Spark.

1. `ReadTask`: files to blocks of rows. One task, since line numbers and order require reading a file from
   its beginning, and compressed files allow nothing else.
2. `DeriveTask`, if the kind derives columns (words of texts): one task per block.
3. `NumberTask`: texts to numbers by first appearance, in order, so again one task.
4. `StreamTask`: the rows, in order of time, to streams: one task per stream.
"""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamlab.workloads.datasets.arrow import Column, column_of
from streamlab.workloads.datasets.dictionary import Numbering
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.file_reader import Reading, read_batches
from streamlab.workloads.datasets.imports.kind import ImportOptions
from streamlab.workloads.datasets.imports.registry import import_kind
from streamlab.workloads.datasets.progress import report
from streamlab.workloads.datasets.rows import RowsWriter

if TYPE_CHECKING:
    import pyarrow as pa


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
