"""Implements the functions that Spark's Python workers run in a native streaming query.

Spark sees only the paths of arriving files. A micro-batch has one file of each stream, all up to the same event time.
Tasks read the files and distribute their rows to shares, as blocks. If a program has only one share, the share reads
the files itself. Each share also gets the last event time, in a row of `TIME`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from streamlab.engines.errors import EngineError
from streamlab.engines.spark.native.tasks import (
    Batches,
    Block,
    NativeReference,
    Task,
    batch_of,
    blocks_of,
    columns_of,
    outputs_of,
    stream_of,
    streams_of,
)
from streamlab.engines.spark.streaming.groups import ValueProcessor, labels
from streamlab.workloads.datasets.dataset import DatasetStream
from streamlab.workloads.model import Stream

FILES = "path string, modificationTime timestamp, length long, content binary"
"""Spark's schema of binary files; Spark reads only the columns that a query uses."""
TIME = -1
"""`src` of the row that tells a share the time: `part` is the micro-batch's number, `begin` its last event time."""
NO_TIME = -(1 << 63)
"""The last event time of a micro-batch without events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivedFiles:
    """The files of a micro-batch.

    Attributes:
        number: number of the micro-batch.
        paths: the file of each stream.
    """

    number: int
    paths: Mapping[int, Path]

    @classmethod
    def from_addresses(cls, addresses: Sequence[str]) -> "ArrivedFiles":
        """Return the files with these addresses, which end with `stream-SRC/part-NUMBER.parquet`.

        Raises:
            EngineError: a stream has several files, or files have different numbers.
        """
        paths = [Path(unquote(urlsplit(address).path)) for address in addresses]
        path_by_src = {_number_in(path.parent.name): path for path in paths}
        numbers = {_number_in(path.stem) for path in paths}
        if len(path_by_src) < len(paths) or len(numbers) > 1:
            raise EngineError(
                f"a micro-batch has the files {sorted(map(str, paths))}; expected one file of each stream"
            )
        return cls(number=numbers.pop(), paths=path_by_src)

    def last_ts(self) -> int:
        """Return the last event time in the files."""
        last = NO_TIME
        for path in self.paths.values():
            footer = pq.read_metadata(path)
            column = footer.schema.names.index("ts")
            for group in range(footer.num_row_groups):
                statistics = footer.row_group(group).column(column).statistics
                if statistics is not None and statistics.has_min_max:
                    last = max(last, statistics.max)
        return last

    def read(self, streams: Sequence[DatasetStream], src: int) -> Stream:
        """Return all rows of a stream."""
        with pq.ParquetFile(self.paths[src]) as file:
            names = [name for name, _ in streams[src].columns]
            return stream_of(streams[src], [file.read(names, use_threads=False)])


def _number_in(name: str) -> int:
    return int(name.rpartition("-")[2])


def distribute_files_task(reference: NativeReference) -> Task:
    """Return the function that distributes the rows of arrived files; its input rows are (task, path).

    Each task gets all paths, and distributes every n-th row group, where n is the number of tasks.
    """

    def distribute(batches: Batches) -> Iterator[pa.RecordBatch]:
        arrived: dict[int, list[str]] = {}
        for batch in batches:
            for task, path in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                arrived.setdefault(task, []).append(path)
        tasks = labels(reference.task.workers)
        for task, paths in arrived.items():
            files = ArrivedFiles.from_addresses(paths)
            yield from _distribute(reference, files, tasks.index(task), len(tasks))

    return distribute


def _distribute(
    reference: NativeReference, files: ArrivedFiles, task: int, tasks: int
) -> Iterator[pa.RecordBatch]:
    split, streams = reference.split(), reference.streams
    names = labels(split.shares)
    if task == 0:
        last_ts = files.last_ts()
        yield from (batch_of(Block(name, TIME, last_ts, files.number, b"")) for name in names)
    shared = [files.read(streams, src) for src in split.shared]
    for src, path in files.paths.items():
        columns = [name for name, _ in streams[src].columns]
        with pq.ParquetFile(path) as file:
            for group in range((task + src) % tasks, file.num_row_groups, tasks):
                table = file.read_row_group(group, columns=columns, use_threads=False)
                parts = split.distribute(src, stream_of(streams[src], [table]), shared)
                for name, rows in zip(names, parts, strict=True):
                    yield from blocks_of(name, src, group, columns_of(rows))


class ShareProcessor(ValueProcessor):
    """Processes a share's rows of each micro-batch.

    Spark stores the number of the next micro-batch and the share's state.
    """

    def __init__(self, reference: NativeReference) -> None:
        """Load nothing yet: Spark pickles the object for its workers."""
        self._reference = reference

    def process(
        self, key: tuple[Any, ...], rows: Iterator[pd.DataFrame], value: Any
    ) -> tuple[pd.DataFrame | None, Any]:
        """Process the share's rows: blocks, or the paths of files if rows are not distributed.

        Raises:
            EngineError: a micro-batch does not follow the preceding one.
        """
        reference, name = self._reference, int(key[0])
        split = reference.split()
        share = labels(split.shares).index(name)
        expected, state = value or (0, None)
        if split.distributes:
            blocks = [Block(*row) for frame in rows for row in frame.itertuples(index=False)]
            time = next(block for block in blocks if block.src == TIME)
            number, last_ts = time.part, time.begin
            streams = streams_of(reference, share, blocks)
        else:
            files = ArrivedFiles.from_addresses([path for frame in rows for path in frame["path"]])
            number, last_ts = files.number, files.last_ts()
            streams = [files.read(reference.streams, src) for src in range(len(files.paths))]
        if number != expected:
            raise EngineError(f"files {number} of the streams arrived, expected files {expected}")
        if last_ts == NO_TIME and not any(map(len, streams)):
            return None, (number + 1, state)
        columns, state = split.resume(share, streams, state, reference.until_ts(last_ts))
        batches = [*outputs_of(name, columns)]
        output = pa.Table.from_batches(batches).to_pandas() if batches else None
        return output, (number + 1, state)
