"""Writes streams from the rows of an import."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from streamlab.workloads.datasets.executor import Executor
from streamlab.workloads.datasets.manifest import WrittenStream
from streamlab.workloads.datasets.sorted_runs import SortedRuns, select_rows
from streamlab.workloads.datasets.stream_file import (
    ROWS_PER_FILE,
    FilePart,
    write_file,
    write_parts,
    write_stream,
)
from streamlab.workloads.model import Alphabet, Block, ColumnType


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTable:
    """One stream to write.

    Attributes:
        name: name of the stream.
        kinds: indices of its kinds.
        dtypes: columns to write, by name.
        blocks: yields the stream's blocks, given blocks of all rows in order of time (rows of equal time: in order of
            the files). Its blocks have the columns of `dtypes`, and may have others.
        each_row: whether each row becomes exactly one event, independent of earlier rows. If so, several tasks can
            write the stream's files.
    """

    name: str
    kinds: tuple[int, ...]
    dtypes: Mapping[str, ColumnType]
    blocks: Callable[[Iterator[Block]], Iterator[Block]]
    each_row: bool = False


def write_streams(
    executor: Executor,
    tables: tuple[StreamTable, ...],
    rows: SortedRuns,
    folder: Path,
    alphabet: Alphabet,
) -> tuple[WrittenStream, ...]:
    """Write streams from all rows. A stream with `each_row` has a task for each file, any other stream one task."""
    events = (rows.count if table.each_row else 0 for table in tables)
    write = partial(_write, tables, rows, folder, alphabet, ROWS_PER_FILE)
    return write_parts(executor, events, ROWS_PER_FILE, write, folder)


def _write(
    tables: tuple[StreamTable, ...],
    rows: SortedRuns,
    folder: Path,
    alphabet: Alphabet,
    rows_per_file: int,
    part: FilePart,
) -> WrittenStream:
    """Write one file of a table with `each_row`, or all files of another table."""
    table = tables[part.stream]
    stream = (folder, table.name, table.kinds, table.dtypes)
    if not table.each_row:
        return write_stream(*stream, table.blocks(rows.blocks()), alphabet, rows_per_file)
    blocks = table.blocks(rows.blocks(part.begin, part.end))
    return write_file(*stream, blocks, alphabet, number=part.number, first_row=part.begin)


def numbered_streams(
    count: int,
    name: str,
    dtypes: Mapping[str, ColumnType],
    share: Callable[[int, int, Iterator[Block]], Iterator[Block]],
    *,
    kind: int = 0,
    each_row: bool = True,
) -> tuple[StreamTable, ...]:
    """Return streams of one kind, named `name-0` and so on.

    Args:
        count: number of streams.
        name: prefix of their names.
        dtypes: columns to write.
        share: `share(count, index, blocks)` yields the rows of the stream `index`, given blocks of all rows.
        kind: index of their kind.
        each_row: whether each row becomes one event in one of the streams, independent of earlier rows.
    """
    return tuple(
        StreamTable(
            name=f"{name}-{index}",
            kinds=(kind,),
            dtypes=dtypes,
            blocks=partial(share, count, index),
            each_row=each_row and count == 1,
        )
        for index in range(count)
    )


def share_rows(column: str, count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the rows of a stream: the rows whose `column` modulo `count` equals `index`."""
    for block in blocks:
        yield select_rows(block, np.asarray(block[column]) % count == index)


def event_columns(fields: np.dtype[np.void]) -> dict[str, ColumnType]:
    """Return the column types of a stream of events with these fields: `ts` and the fields."""
    return {"ts": np.dtype(np.int64), **{name: fields[name] for name in fields.names or ()}}
