"""Builds the functions of tasks in Spark's Python workers: distribute rows of files to shares, and answer a share.

Rows travel as blocks. A block is one row of Spark, with the columns of several rows as bytes.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext

from streamlab.engines.spark.generic.task_reference import TaskReference
from streamlab.engines.spark.layout import time_span
from streamlab.engines.spark.native.blocks import pack_block, unpack_blocks
from streamlab.engines.spark.native.compiler import split_work
from streamlab.engines.spark.streaming.groups import labels
from streamlab.engines.work_split import WorkSplit
from streamlab.workloads.datasets.arrow import Column, arrow_type, column_of
from streamlab.workloads.datasets.dataset import Dataset, DatasetStream
from streamlab.workloads.model import Columns, ListColumn, Stream, column_type
from streamlab.workloads.model.streams.stream import until

BLOCK_ROWS = 1 << 18
"""Rows in a block. Blocks have at most some megabytes, because Spark copies a block several times."""
BLOCK = "share int, src int, begin long, part int, records binary"
"""The schema of blocks: rows of stream `src` for a share. `begin` and `part` order the blocks of a stream."""
_SCHEMA = pa.schema(
    [
        ("share", pa.int32()),
        ("src", pa.int32()),
        ("begin", pa.int64()),
        ("part", pa.int32()),
        ("records", pa.binary()),
    ]
)
Batches = Iterable[pa.RecordBatch]
Task = Callable[[Batches], Iterator[pa.RecordBatch]]


class Block(NamedTuple):
    """A row of schema BLOCK."""

    share: int
    src: int
    begin: int
    part: int
    records: bytes | pa.Buffer


class Piece(NamedTuple):
    """Rows of a stream.

    Attributes:
        src: index of the stream.
        file: index of the file in the stream.
        group: index of the row group in the file.
        begin: number of the first row in the stream.
        rows: number of rows.
    """

    src: int
    file: int
    group: int
    begin: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeReference:
    """Describes a task to workers.

    Attributes:
        task: reference to the program.
        code: identifies the program's code, so that workers load a changed program again.
        dataset: the input, with the columns that the program reads.
        partials: see `SplitsWork`.
    """

    task: TaskReference
    code: str
    dataset: Dataset
    partials: bool

    @property
    def streams(self) -> tuple[DatasetStream, ...]:
        """The streams of the input."""
        return self.dataset.streams

    def split(self) -> WorkSplit:
        """Return the program's work in shares; works in any process, and splits once in each process."""
        files = [([*map(str, stream.paths)], stream.rows) for stream in self.streams]
        key = f"{self.code} {self.task} {files} {self.dataset.until_ts} {self.partials}"
        if key not in _SPLITS:
            _SPLITS.clear()
            program, workers = self.task.load(), self.task.workers
            _SPLITS[key] = split_work(
                program, self.dataset, workers=workers, partials=self.partials
            )
            if TaskContext.get() is not None:
                gc.freeze()  # Otherwise the garbage collection after each task takes 0.1 s for the compiler's objects.
        return _SPLITS[key]

    def until_ts(self, last_ts: int) -> int:
        """Return the time before which the input is complete if all events up to `last_ts` have arrived."""
        first_and_last = time_span(self.dataset)
        assert first_and_last is not None, "there is an event"
        last = max(stream.ts_max for stream in self.streams if stream.rows)
        return last_ts + 1 if last_ts < last else first_and_last[1] + 1

    def pieces(self) -> list[Piece]:
        """Return the row groups of all files."""
        pieces = []
        for src, stream in enumerate(self.streams):
            begin = 0
            for file, footer in enumerate(map(pq.read_metadata, stream.paths)):
                for group in range(footer.num_row_groups):
                    rows = min(footer.row_group(group).num_rows, stream.rows - begin)
                    if rows > 0:
                        pieces.append(Piece(src, file, group, begin, rows))
                        begin += rows
        return pieces


_SPLITS: dict[str, WorkSplit] = {}
"""The latest split of this process; it has compiled functions, so other splits are dropped."""


def distribute_task(reference: NativeReference, pieces: Sequence[Piece]) -> Task:
    """Return the function that distributes the rows of pieces to shares; its input has the numbers of pieces."""

    def distribute(batches: Batches) -> Iterator[pa.RecordBatch]:
        split = reference.split()
        names = labels(split.shares)
        shared = [_read_all(reference.streams, pieces, src) for src in split.shared]
        for batch in batches:
            for number in batch.column(0).to_pylist():
                piece = pieces[number]
                stream = reference.streams[piece.src]
                rows = stream_of(stream, [_read(stream, piece)])
                for name, part in zip(
                    names, split.distribute(piece.src, rows, shared), strict=True
                ):
                    yield from blocks_of(name, piece.src, piece.begin, columns_of(part))

    return distribute


def answer_task(reference: NativeReference) -> Task:
    """Return the function that answers the shares of a partition, from their blocks."""

    def answer(batches: Batches) -> Iterator[pa.RecordBatch]:
        blocks: dict[int, list[Block]] = {}
        for batch in batches:
            share, src, begin, part = (batch.column(i).to_pylist() for i in range(4))
            for row, records in enumerate(batch.column(4)):
                place = share[row], src[row], begin[row], part[row]
                block = Block(*place, records.as_buffer())
                blocks.setdefault(block.share, []).append(block)
        split = reference.split()
        for name in sorted(blocks):
            share = labels(split.shares).index(name)
            streams = streams_of(reference, share, blocks.pop(name))
            yield from outputs_of(name, split.answer(share, streams))

    return answer


def whole_task(reference: NativeReference, pieces: Sequence[Piece]) -> Task:
    """Return the function that reads all pieces and answers the only share."""

    def answer(batches: Batches) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            streams = [
                _read_all(reference.streams, pieces, src) for src in range(len(reference.streams))
            ]
            yield from outputs_of(0, reference.split().answer(0, streams))

    return answer


def empty_rows(stream: DatasetStream) -> Stream:
    """Return a stream's columns without rows."""
    types = {name: column_type(type_) for name, type_ in stream.columns}
    return stream_of(
        stream, [pa.schema([(n, arrow_type(t)) for n, t in types.items()]).empty_table()]
    )


def first_rows(streams: Sequence[DatasetStream], rows: int) -> list[Stream]:
    """Return at most the first `rows` rows of each stream's first row group, up to one event time for all streams."""
    beginnings = []
    for src, stream in enumerate(streams):
        piece = Piece(src, 0, 0, 0, min(rows, stream.rows))
        beginnings.append(
            stream_of(stream, [_read(stream, piece)]) if piece.rows else empty_rows(stream)
        )
    ends = [r.ts[-1] for r, s in zip(beginnings, streams, strict=True) if len(r) < s.rows]
    return [until(r, int(min(ends))) for r in beginnings] if ends else beginnings


def streams_of(reference: NativeReference, share: int, blocks: Iterable[Block]) -> list[Stream]:
    """Return the rows of a share of each stream, in order."""
    split = reference.split()
    blocks_by_src: dict[int, list[Block]] = {}
    for block in blocks:
        blocks_by_src.setdefault(block.src, []).append(block)
    streams = []
    for src, stream in enumerate(reference.streams):
        ordered_blocks = sorted(
            blocks_by_src.get(src, ()), key=lambda block: (block.begin, block.part)
        )
        if ordered_blocks:
            columns = unpack_blocks([block.records for block in ordered_blocks])
            streams.append(_stream(stream, columns))
        else:
            shared = [empty_rows(reference.streams[other]) for other in split.shared]
            streams.append(split.distribute(src, empty_rows(stream), shared)[share])
    return streams


def _read_all(streams: Sequence[DatasetStream], pieces: Sequence[Piece], src: int) -> Stream:
    """Return all rows of a stream."""
    tables = [_read(streams[src], piece) for piece in pieces if piece.src == src]
    return stream_of(streams[src], tables) if tables else empty_rows(streams[src])


def _read(stream: DatasetStream, piece: Piece) -> pa.Table:
    names = [name for name, _ in stream.columns]
    with pq.ParquetFile(stream.paths[piece.file]) as file:
        table = file.read_row_group(piece.group, columns=names, use_threads=False)
    return table.select(names).slice(0, piece.rows)


def columns_of(rows: Stream) -> dict[str, Column]:
    """Return all columns of a stream's rows."""
    tag = {} if rows.tag is None else {"tag": rows.tag}
    return {"ts": rows.ts, **tag, **rows.payload}


def stream_of(stream: DatasetStream, tables: Sequence[pa.Table]) -> Stream:
    """Return rows of a stream from tables, in their order."""
    table = pa.concat_tables(tables)
    return _stream(stream, {name: column_of(table[name]) for name in table.column_names})


def _stream(stream: DatasetStream, columns: dict[str, Column]) -> Stream:
    """Return rows of a stream from their columns."""
    ts, tag = columns.pop("ts"), columns.pop("tag", None)
    assert not isinstance(ts, ListColumn)
    assert not isinstance(tag, ListColumn)
    kinds = stream.kinds[:1] if tag is None else stream.kinds  # Partial states have no tags.
    return Stream(name=stream.name, kinds=kinds, ts=ts, tag=tag, payload=columns)


def blocks_of(
    name: int, src: int, begin: int, columns: Mapping[str, Column]
) -> Iterator[pa.RecordBatch]:
    """Yield columns as blocks of a share."""
    for part, first in enumerate(range(0, len(columns["ts"]), BLOCK_ROWS)):
        rows = slice(first, first + BLOCK_ROWS)
        packed = pack_block({name: column[rows] for name, column in columns.items()})
        yield batch_of(Block(name, src, begin, part, packed))


def batch_of(block: Block) -> pa.RecordBatch:
    """Return a block as a row."""
    return pa.RecordBatch.from_arrays([[value] for value in block], schema=_SCHEMA)


def outputs_of(name: int, columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yield the outputs of a share as blocks."""
    return blocks_of(name, 0, 0, columns)
