"""Reads the streams of an input, and writes them as the files of micro-batches."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import IntArray
from streamlab.workloads.datasets.dataset import Dataset, DatasetStream
from streamlab.workloads.model import Program, fields_read

END = np.iinfo(np.int64).max
"""Event time of the heartbeat that closes a stream; later than any event."""
ROW_GROUP = 1 << 18
"""Rows per row group, the unit by which Spark splits a file among tasks."""


def read_rows(stream: DatasetStream) -> pa.Table:
    """Return the stream's rows as a table; in a truncated dataset, these are the first rows of the files."""
    names = [name for name, _ in stream.columns]
    groups: list[pa.Table] = []
    rows = 0
    for path in stream.paths:
        with pq.ParquetFile(path) as file:
            schema = pa.schema([file.schema_arrow.field(name) for name in names])
            for index in range(file.num_row_groups):
                if rows >= stream.rows:
                    break
                groups.append(file.read_row_group(index, columns=names))
                rows += len(groups[-1])
    return pa.concat_tables([schema.empty_table(), *groups]).slice(0, stream.rows)


def with_columns_read(dataset: Dataset, program: Program) -> Dataset:
    """Return an input with only the columns that a program reads."""
    names = {"ts", "tag", *fields_read(program)}
    streams = (
        replace(stream, columns=tuple(c for c in stream.columns if c[0] in names))
        for stream in dataset.streams
    )
    return replace(dataset, streams=tuple(streams))


def check_end(stream: DatasetStream) -> None:
    """Raise EngineError if an event has the time of the closing heartbeat."""
    if stream.rows and stream.ts_max == END:
        raise EngineError(
            f"stream {stream.name} of {stream.path} has an event at {END}, the largest event time, "
            "but the spark engine reserves this time for its closing heartbeat; shift the event times down"
        )


def append_row_numbers(table: pa.Table, name: str) -> pa.Table:
    """Return a table with its row numbers as an additional column."""
    return table.append_column(name, pa.array(np.arange(len(table), dtype=np.int64)))


def append_heartbeat(table: pa.Table, values: Mapping[str, int]) -> pa.Table:
    """Return a table with a heartbeat as its last row; columns without a value are null in this row."""
    if not values.keys() >= set(table.column_names):
        table = table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))
    row = {name: values.get(name) for name in table.column_names}
    return pa.concat_tables([table, pa.Table.from_pylist([row], schema=table.schema)])


def equal_cuts(rows: int, files: int) -> list[int]:
    """Return the row numbers, including 0 and `rows`, that split a table into equal files."""
    return [rows * index // files for index in range(files + 1)]


def equal_times(dataset: Dataset, files: int) -> IntArray:
    """Return the event times that split the events of all streams into about equal parts."""
    ts = np.concatenate([read_rows(stream)["ts"].to_numpy() for stream in dataset.streams])
    ts.sort()
    return ts[np.arange(1, files) * len(ts) // files] if len(ts) else ts


def cuts_at(table: pa.Table, times: IntArray) -> list[int]:
    """Return the row numbers, including 0 and the last, that split a table so that each part ends before a time."""
    return [0, *np.searchsorted(table["ts"].to_numpy(), times).tolist(), len(table)]


def write_files(table: pa.Table, folder: Path, cuts: Sequence[int]) -> None:
    """Write a table as files, split at the rows `cuts`, in order."""
    folder.mkdir(parents=True)
    for index, (begin, end) in enumerate(pairwise(cuts)):
        write_file(table.slice(begin, end - begin), folder / f"part-{index:05d}.parquet", index)


def write_file(table: pa.Table, path: Path, number: int) -> None:
    """Write a file whose modification time encodes its number, because Spark's file source orders files by it."""
    pq.write_table(table, path, row_group_size=ROW_GROUP)
    os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def write_beginning(dataset: Dataset, folder: Path, events: int) -> Dataset:
    """Write the beginning of every stream, up to one event time, as an input of about `events` events.

    An input of at most `events` events is returned unchanged.
    """
    if dataset.events <= events:
        return dataset
    folder.mkdir(parents=True)
    begin = min(stream.ts_min for stream in dataset.streams if stream.rows)
    end = max(stream.ts_max for stream in dataset.streams if stream.rows)
    last_ts = begin + (end - begin) * events // dataset.events
    streams = []
    for src, stream in enumerate(dataset.streams):
        table = pq.read_table([*stream.paths], filters=pc.field("ts") <= last_ts)
        path = folder / f"{src}.parquet"
        pq.write_table(table, path)
        ends = pc.min_max(table["ts"]).as_py() if len(table) else {"min": 0, "max": 0}
        streams.append(
            replace(
                stream,
                path=path,
                further=(),
                rows=len(table),
                ts_min=ends["min"],
                ts_max=ends["max"],
            )
        )
    return replace(dataset, streams=tuple(streams))
