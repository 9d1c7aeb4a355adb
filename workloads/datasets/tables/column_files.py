"""Reads Parquet and Arrow IPC files as tables; each file has its own column types."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from operator import add
from pathlib import Path

import numpy as np

from streamlab.workloads.datasets import pa, pq
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables.file_search import Paths, find_files, resolve_paths
from streamlab.workloads.datasets.tables.table import Part
from streamlab.workloads.datasets.text.records import Chunk

ROWS = 1 << 16
"""Rows read at a time, unless the file's own blocks are smaller."""
_STREAM_MARK = b"\xff\xff\xff\xff"
_FILE_MARK = b"ARROW1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFiles:
    """Parquet files, or with `ipc` Arrow IPC files (including Feather) and streams.

    Attributes:
        paths: files, globs of files, or folders with everything below.
        ipc: whether they are Arrow IPC.
    """

    paths: Paths
    ipc: bool = False

    @property
    def label(self) -> str:
        """As `Source.label`."""
        return ", ".join(Path(path).name for path in self.paths)

    def files(self) -> tuple[Path, ...]:
        """As `Source.files`."""
        return find_files(self.paths, folders=".arrow" if self.ipc else ".parquet")

    def content(self) -> str:
        """As `Source.content`."""
        return "arrow" if self.ipc else "parquet"

    def relative_to(self, folder: Path) -> "ColumnFiles":
        """As `Source.relative_to`."""
        return replace(self, paths=resolve_paths(self.paths, folder))

    def parts(self, at: Callable[[int], None]) -> Iterator[Part]:
        """As `Source.parts`."""
        done = 0
        for path in self.files():
            yield from (arrow_parts if self.ipc else parquet_parts)(path)
            done += path.stat().st_size
            at(done)


def parquet_parts(path: Path) -> Iterator[Part]:
    """Yield a Parquet file as a part."""
    with _reading(path, "Parquet"), path.open("rb") as raw, pq.ParquetFile(raw) as file:
        names = tuple(file.schema_arrow.names)

        def chunks(chosen: Sequence[int]) -> Iterator[Chunk]:
            # Columns that share a name are never chosen; reading one by name would read all of them.
            chosen_names = list(dict.fromkeys(names[index] for index in chosen))
            with _reading(path, "Parquet"):
                batches = file.iter_batches(batch_size=ROWS, columns=chosen_names)
                # Arrow does not promise the order of columns.
                ordered = (batch.select([names[index] for index in chosen]) for batch in batches)
                yield from chunk_batches(ordered, range(len(chosen)))

        yield Part(place=str(path), file=path.name, names=names, chunks=chunks)


def arrow_parts(path: Path) -> Iterator[Part]:
    """Yield a file or stream of Arrow IPC as a part."""
    with _reading(path, "Arrow IPC"), pa.memory_map(os.fsencode(path)) as file:
        start = file.read(len(_FILE_MARK))
        file.seek(0)
        if start == _FILE_MARK:
            reader = pa.ipc.open_file(file)
            batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
        elif start.startswith(_STREAM_MARK):
            reader = pa.ipc.open_stream(file)
            batches = iter(reader)
        else:
            raise DatasetError(f"{path} is neither a file nor a stream of Arrow IPC")

        def chunks(chosen: Sequence[int]) -> Iterator[Chunk]:
            with _reading(path, "Arrow IPC"):
                yield from chunk_batches(batches, chosen)

        yield Part(place=str(path), file=path.name, names=tuple(reader.schema.names), chunks=chunks)


def chunk_batches(batches: "Iterator[pa.RecordBatch]", chosen: Sequence[int]) -> Iterator[Chunk]:
    """Yield the chosen columns of batches as chunks; rows count from 1."""
    names = [str(number) for number in range(len(chosen))]
    done = 0
    for large_batch in batches:
        for begin in range(0, large_batch.num_rows, ROWS):
            batch = large_batch.slice(begin, ROWS)
            yield Chunk(
                batch=pa.RecordBatch.from_arrays([batch.column(i) for i in chosen], names),
                number=partial(add, done + begin + 1),
                further=np.zeros(batch.num_rows, np.int64),
            )
        done += large_batch.num_rows


@contextmanager
def _reading(path: Path, form: str) -> Iterator[None]:
    """Convert errors from reading a broken file into a `DatasetError`."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        why = str(error).rstrip(".")
        raise DatasetError(f"{path} cannot be read as {form}: {why}") from error
