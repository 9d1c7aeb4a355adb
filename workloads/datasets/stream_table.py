"""Writes streams from the rows of an import."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from streamlab.workloads.datasets.sorted_runs import SortedRuns, select_rows
from streamlab.workloads.datasets.stream_file import write_stream
from streamlab.workloads.model import Alphabet, Block, ColumnType


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTable:
    """One stream to write.

    Attributes:
        name: of the stream.
        kinds: its kind indices.
        dtypes: columns to write, by name.
        blocks: makes the stream's blocks from blocks of all rows in order of time (ties: of the files). Its
            blocks have the columns of `dtypes`, and may have others.
    """

    name: str
    kinds: tuple[int, ...]
    dtypes: Mapping[str, ColumnType]
    blocks: Callable[[Iterator[Block]], Iterator[Block]]


def write_table(
    tables: tuple[StreamTable, ...],
    rows: SortedRuns,
    folder: Path,
    alphabet: Alphabet,
    index: int,
) -> dict[str, Any]:
    """Write one stream, by its index, from its rows, and return the fields of its `WrittenStream`."""
    table = tables[index]
    blocks = table.blocks(rows.blocks())
    return asdict(write_stream(folder, table.name, table.kinds, table.dtypes, blocks, alphabet))


def numbered_streams(
    count: int,
    name: str,
    dtypes: Mapping[str, ColumnType],
    share: Callable[[int, int, Iterator[Block]], Iterator[Block]],
    *,
    kind: int = 0,
) -> tuple[StreamTable, ...]:
    """Return streams of one kind, named `name-0` and so on; `share(count, index, blocks)` yields the rows of one."""
    return tuple(
        StreamTable(
            name=f"{name}-{index}",
            kinds=(kind,),
            dtypes=dtypes,
            blocks=partial(share, count, index),
        )
        for index in range(count)
    )


def share_rows(by: str, count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the rows of a stream: those whose column `by` modulo `count` equals `index`."""
    for block in blocks:
        yield select_rows(block, np.asarray(block[by]) % count == index)


def event_columns(fields: np.dtype[np.void]) -> dict[str, ColumnType]:
    """Return the column types of a stream of events with these fields: `ts` and the fields."""
    return {"ts": np.dtype(np.int64), **{name: fields[name] for name in fields.names or ()}}
