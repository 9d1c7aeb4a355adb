"""Writes and reads the Parquet files of streams, which are identified by the hash of their content.

A stream has a file for each `ROWS_PER_FILE` rows: `value-0.parquet`, `value-0.1.parquet` and so on. So tasks can write
the parts of a long stream in parallel. Files are plain Parquet with Snappy compression in row groups of about a million
rows, which every engine reads fast. Integers are stored as packed differences, which take less space and time. Each
page has a CRC-32, so any reader can detect damage.

The bytes depend on the library's version. So the content hash of a file covers the columns: the name, type and
little-endian values of each. For a column of lists it covers the ends of all lists, counted from the first value, and
all elements. The hash of a stream of several files covers their hashes.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path

import msgspec
import numpy as np

from streamlab.workloads.datasets import pa, pq
from streamlab.workloads.datasets.arrow import Column, arrow_array, arrow_type, column_of
from streamlab.workloads.datasets.errors import DamagedError, DatasetError
from streamlab.workloads.datasets.executor import Executor
from streamlab.workloads.datasets.manifest import WrittenFile, WrittenStream
from streamlab.workloads.datasets.progress import report
from streamlab.workloads.model import Alphabet, Block, ColumnType, ListColumn, ListType

ROWS_PER_GROUP = 1 << 20
"""A group takes 16 MiB for two int64 columns: little compared with memory, much compared with its overhead."""

ROWS_PER_FILE = 1 << 24
"""Generating a file takes about a second, long compared with a task's start-up. The file takes 30 MB on disk."""


def write_stream(
    folder: Path,
    name: str,
    kinds: tuple[int, ...],
    dtypes: Mapping[str, ColumnType],
    blocks: Iterable[Block],
    alphabet: Alphabet,
    rows_per_file: int = ROWS_PER_FILE,
) -> WrittenStream:
    """Write a stream to as many files as its blocks need; see `write_file` for the arguments.

    Raises:
        DatasetError: as `write_file`.
    """
    remaining = _cut_at_files(blocks, rows_per_file)
    files: list[WrittenStream] = []
    rows = 0
    while not files or files[-1].rows >= rows_per_file:
        part = _take(rows_per_file, remaining)
        file = write_file(
            folder, name, kinds, dtypes, part, alphabet, number=len(files), first_row=rows
        )
        rows += file.rows
        files.append(file)
    if len(files) > 1 and not files[-1].rows:
        (folder / files.pop().file).unlink()
    return join_files(files)


def _cut_at_files(blocks: Iterable[Block], rows_per_file: int) -> Iterator[Block]:
    """Yield `blocks`, cut so that none extends beyond the end of a file."""
    rows_before = 0
    for block in blocks:
        begin, rows = 0, len(block["ts"])
        while begin < rows:
            end = min(rows, begin + rows_per_file - rows_before % rows_per_file)
            yield {name: column[begin:end] for name, column in block.items()}
            rows_before, begin = rows_before + end - begin, end


def _take(rows: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the next blocks until they have `rows` rows together."""
    while rows > 0 and (block := next(blocks, None)) is not None:
        rows -= len(block["ts"])
        yield block


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """The rows of one file.

    Attributes:
        stream: index of the stream.
        number: index of the file in the stream.
        begin, end: its rows in the stream, from `begin` to before `end`.
    """

    stream: int
    number: int
    begin: int
    end: int


def write_parts(
    executor: Executor,
    rows: Iterable[int],
    rows_per_file: int,
    write: Callable[[FilePart], WrittenStream],
    folder: Path,
) -> tuple[WrittenStream, ...]:
    """Write streams with one task for each file, and return their records.

    Args:
        executor: runs the tasks.
        rows: the number of rows of each stream.
        rows_per_file: maximum number of rows of a file.
        write: writes a file.
        folder: the folder of all files.
    """
    parts = file_parts(rows, rows_per_file)
    task = partial(write_part, parts, write, folder)
    written = msgspec.convert(executor.run(task, len(parts)), list[WrittenStream])
    pairs = list(zip(parts, written, strict=True))
    streams = range(parts[-1].stream + 1)
    return tuple(join_files([file for part, file in pairs if part.stream == n]) for n in streams)


def file_parts(rows: Iterable[int], rows_per_file: int) -> tuple[FilePart, ...]:
    """Return the files of streams, given the number of rows of each stream."""
    return tuple(
        FilePart(stream=index, number=number, begin=begin, end=min(begin + rows_per_file, count))
        for index, count in enumerate(rows)
        for number, begin in enumerate(range(0, max(1, count), rows_per_file))
    )


def write_part(
    parts: Sequence[FilePart],
    write: Callable[[FilePart], WrittenStream],
    folder: Path,
    index: int,
) -> dict[str, object]:
    """Write the file `parts[index]` unless a killed process has written it; return the fields of its record."""
    record = folder / f"{index}.written"
    if record.is_file():
        return msgspec.json.decode(record.read_bytes(), type=dict[str, object])
    written = write(parts[index])
    new = record.with_suffix(".new")
    new.write_bytes(msgspec.json.encode(written))
    new.replace(record)
    return asdict(written)


def write_file(
    folder: Path,
    name: str,
    kinds: tuple[int, ...],
    dtypes: Mapping[str, ColumnType],
    blocks: Iterable[Block],
    alphabet: Alphabet,
    *,
    number: int,
    first_row: int,
) -> WrittenStream:
    """Write blocks of columns to a file of a stream, then read them back for the record.

    In a block, a column of a `ListType` is a `ListColumn`, any other column an array. Memory is bounded by one row
    group and one block. A second file with the ending `.done` has the number of rows written so far.

    Args:
        folder: the folder of all files of the dataset.
        name: name of the stream.
        kinds: indices of the kinds that may occur.
        dtypes: the type of each column.
        blocks: the columns, in blocks of rows.
        alphabet: the alphabet of the dataset.
        number: index of the file in its stream.
        first_row: number of rows in earlier files.

    Raises:
        DatasetError: timestamps decrease, a tag is outside the alphabet, or a tag's kind is not in `kinds`.
    """
    path = folder / f"{name}.{number}.parquet" if number else folder / f"{name}.parquet"
    schema = pa.schema(
        [pa.field(column, arrow_type(dtype), False) for column, dtype in dtypes.items()]
    )
    rows, latest = 0, 0
    with pq.ParquetWriter(
        path,
        schema,
        use_dictionary=False,
        compression="snappy",
        column_encoding=_encodings(dtypes),
        write_page_checksum=True,
    ) as writer:
        for group in _group_blocks(blocks, dtypes):
            ts = group["ts"]
            assert not isinstance(ts, ListColumn)
            descents = np.flatnonzero(np.diff(ts, prepend=latest if rows else ts[0]) < 0)
            if len(descents):
                row = int(descents[0])
                raise _order_error(name, first_row + rows + row, int(ts[row]))
            latest = ts[-1]
            if "tag" in group:
                tags = group["tag"]
                assert not isinstance(tags, ListColumn)
                wrong = alphabet.wrong_tag(tags, kinds, first_row=first_row + rows)
                if wrong is not None:
                    raise DatasetError(f"stream {name}: {wrong}")
            arrays = [arrow_array(group[column]) for column in dtypes]
            table = pa.Table.from_arrays(arrays, schema=schema)
            writer.write_table(table, row_group_size=ROWS_PER_GROUP)
            rows += len(ts)
            report(path.with_suffix(".done"), rows)
    return _describe_file(path, name, kinds, dtypes)


def join_files(files: Sequence[WrittenStream]) -> WrittenStream:
    """Return the record of a stream from those of its files, in order of rows.

    Raises:
        DatasetError: a file begins with an earlier time than the last time of the file before it.
    """
    first, *others = files
    if not others:
        return first
    first_rows = [0, *accumulate(file.rows for file in files)]
    for before, file, row in zip(files, others, first_rows[1:], strict=False):
        if file.ts_min < before.ts_max:
            raise _order_error(file.name, row, file.ts_min)
    return replace(
        first,
        rows=first_rows[-1],
        ts_max=files[-1].ts_max,
        sha256=hashlib.sha256(b"".join(bytes.fromhex(file.sha256) for file in files)).hexdigest(),
        further=tuple(
            WrittenFile(file=file.file, bytes=file.bytes, first_row=row)
            for file, row in zip(others, first_rows[1:], strict=False)
        ),
    )


def _order_error(name: str, row: int, ts: int) -> DatasetError:
    return DatasetError(
        f"stream {name} is not sorted: row {row} has timestamp {ts}, which is below that of the row before it"
    )


def _encodings(dtypes: Mapping[str, ColumnType]) -> dict[str, str]:
    """Return the encoding of integer columns: packed differences, which are small and fast to decode."""
    integers = {}
    for name, dtype in dtypes.items():
        path = name
        if isinstance(dtype, ListType):
            path, dtype = f"{name}.list.element", dtype.element
        if dtype.kind in "iu":
            integers[path] = "DELTA_BINARY_PACKED"
    return integers


def _group_blocks(
    blocks: Iterable[Block], dtypes: Mapping[str, ColumnType]
) -> Iterator[dict[str, Column]]:
    """Collect blocks into row groups; a block must be smaller than a group."""
    pending: list[Block] = []
    rows = 0
    for block in blocks:
        pending.append(block)
        rows += len(block["ts"])
        if rows >= ROWS_PER_GROUP:
            yield {name: _concatenate(name, pending, dtype) for name, dtype in dtypes.items()}
            pending, rows = [], 0
    if rows:
        yield {name: _concatenate(name, pending, dtype) for name, dtype in dtypes.items()}


def _concatenate(name: str, blocks: list[Block], dtype: ColumnType) -> Column:
    parts = [block[name] for block in blocks]
    lists = [part for part in parts if isinstance(part, ListColumn)]
    arrays = [part for part in parts if not isinstance(part, ListColumn)]
    if isinstance(dtype, ListType) and not arrays:
        return ListColumn.concatenate(lists, dtype.element)
    if isinstance(dtype, np.dtype) and not lists:
        return np.concatenate(arrays).astype(dtype, copy=False)
    raise DatasetError(
        f"column {name} must be {dtype.name}, but one of its blocks "
        f"{'holds lists' if lists else 'holds no lists'}"
    )


class _Digest:
    """Computes the SHA-256 of one column's content, independent of row groups."""

    def __init__(self, name: str, dtype: ColumnType) -> None:
        lists = isinstance(dtype, ListType)
        shown = f"list:{dtype.element.str}" if isinstance(dtype, ListType) else dtype.str
        self._values = hashlib.sha256(f"{name}:{shown}:".encode())
        self._ends = hashlib.sha256() if lists else None
        self._end = 0

    def update(self, column: Column) -> None:
        if isinstance(column, ListColumn):
            assert self._ends is not None
            packed = column.packed()
            self._ends.update(np.ascontiguousarray(packed.offsets[1:] + self._end).data)
            self._end += int(packed.offsets[-1])
            column = packed.values
        self._values.update(np.ascontiguousarray(column).data)

    def digest(self) -> bytes:
        if self._ends is None:
            return self._values.digest()
        return hashlib.sha256(self._values.digest() + self._ends.digest()).digest()


def _describe_file(
    path: Path, name: str, kinds: tuple[int, ...], dtypes: Mapping[str, ColumnType]
) -> WrittenStream:
    """Read a stream file, and return its record, which has the hash of the file's content."""
    hashes = {column: _Digest(column, dtype) for column, dtype in dtypes.items()}
    rows, ts_min, ts_max = 0, 0, 0
    for group in read_groups(path):
        if not len(group["ts"]):
            continue
        ts = group["ts"]
        assert not isinstance(ts, ListColumn)
        ts_min = int(ts[0]) if rows == 0 else ts_min
        ts_max = int(ts[-1])
        rows += len(ts)
        for column, digest in hashes.items():
            digest.update(group[column])
    digest_of_all = hashlib.sha256(b"".join(digest.digest() for digest in hashes.values()))
    return WrittenStream(
        name=name,
        kinds=kinds,
        file=path.name,
        bytes=path.stat().st_size,
        rows=rows,
        ts_min=ts_min,
        ts_max=ts_max,
        columns=tuple((column, dtype.name) for column, dtype in dtypes.items()),
        sha256=digest_of_all.hexdigest(),
    )


def read_groups(path: Path, names: list[str] | None = None) -> Iterator[dict[str, Column]]:
    """Yield the columns `names` (None: all) of each row group of a stream file.

    Raises:
        DamagedError: the file is missing or damaged.
    """
    try:
        with pq.ParquetFile(path, memory_map=False, page_checksum_verification=True) as file:
            for index in range(file.num_row_groups):
                table = file.read_row_group(index, columns=names, use_threads=False)
                yield {name: column_of(table.column(name)) for name in table.column_names}
    except (OSError, ValueError, MemoryError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error


def most_values(path: Path, name: str) -> int:
    """Return an upper bound on the number of elements of a list column, from the file's footer.

    Parquet counts an empty list as one value.

    Raises:
        DamagedError: the file is missing or damaged, or has no such column.
    """
    try:
        footer = pq.read_metadata(path)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error
    for column in range(footer.num_columns):
        if footer.schema.column(column).path.split(".")[0] == name:
            groups = range(footer.num_row_groups)
            return sum(footer.row_group(group).column(column).num_values for group in groups)
    raise _unreadable(path, f"it has no column {name}")


def _unreadable(path: Path, reason: object) -> DamagedError:
    return DamagedError(
        f"{path} cannot be read ({reason}); make its dataset again (`lab data verify` shows the command)"
    )
