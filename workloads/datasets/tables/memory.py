"""Provides tables in memory: frames, arrays, and functions that yield rows or blocks of columns."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.arrow import arrow_array
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables.files import ROWS, chunk_batches
from streamlab.workloads.datasets.tables.source import FIRST, Head, Part, Split, Start, ignore
from streamlab.workloads.datasets.text.records import Chunk
from streamlab.workloads.model import ListColumn

Item = Mapping[str, Any]
"""A row with a value for each column, or a block with an array for each column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InMemory:
    """Rows in memory, or rows that a function generates at each reading.

    Attributes:
        label: a short name for people.
        batches: yields all rows at each call, as Arrow batches of one schema.
    """

    label: str
    batches: "Callable[[], Iterator[pa.RecordBatch]]"

    def files(self) -> tuple[Path, ...]:
        """Return no files."""
        return ()

    def content(self) -> str:
        """Return a hash of names, types and values, batch by batch."""
        digest = hashlib.sha256()
        for batch in self._read():
            digest.update(batch.schema.remove_metadata().to_string().encode())
            stream = pa.BufferOutputStream()  # includes dictionaries, unlike a serialized batch
            bare_batch = batch.replace_schema_metadata(None)
            with pa.ipc.new_stream(stream, bare_batch.schema) as writer:
                writer.write_batch(bare_batch)
            digest.update(stream.getvalue())
        return digest.hexdigest()

    def relative_to(self, folder: Path) -> "InMemory":
        """Return itself, because rows in memory have no path."""
        return self

    def splits(self) -> tuple[Split, ...]:
        """Return one split with all rows."""
        return (Split(),)

    def parts(
        self, split: Split, start: Start = FIRST, report_bytes: Callable[[int], None] = ignore
    ) -> Iterator[Part]:
        """Yield one part with all rows, unless there are none. No bytes are reported."""
        batches = self._read()
        first = next(batches, None)
        if first is None:
            return

        def chunks(chosen: Sequence[int]) -> Iterator[Chunk]:
            return chunk_batches(chain([first], batches), chosen)

        yield Part(
            place=self.label,
            file=self.label,
            head=Head(names=tuple(first.schema.names)),
            chunks=chunks,
        )

    def _read(self) -> "Iterator[pa.RecordBatch]":
        try:
            yield from self.batches()
        except pa.ArrowException as error:
            raise DatasetError(f"{self.label} cannot be read as columns: {error}") from error


def frame_source(frame: Any) -> InMemory:
    """Return a pandas or Polars frame, or another object with Arrow's stream interface, as a source.

    Raises:
        DatasetError: the object does not have this interface.
    """
    owner = type(frame)
    label = f"{owner.__module__.partition('.')[0]} {owner.__name__}"
    if not hasattr(frame, "__arrow_c_stream__"):
        raise DatasetError(
            f"{label} does not have Arrow's interface for streams (__arrow_c_stream__); give a frame of "
            "pandas 2.2 or of Polars, a table of Arrow, or arrays(...)"
        )

    def batches() -> "Iterator[pa.RecordBatch]":
        with pa.RecordBatchReader.from_stream(frame) as reader:
            # Frames without rows have columns, but no batches.
            first = next(reader, pa.RecordBatch.from_pylist([], schema=reader.schema))
            yield first
            yield from reader

    return InMemory(label=label, batches=batches)


def arrays_source(data: Any) -> InMemory:
    """Return columns by name, or a structured array, as a source; raises `DatasetError` for other data."""
    if isinstance(data, np.ndarray) and data.dtype.names:
        data = {name: data[name] for name in data.dtype.names}
    if not isinstance(data, Mapping) or not data:
        raise DatasetError(
            f"arrays: got {type(data).__name__}; give a mapping from names to arrays, or a "
            "structured array"
        )
    columns = dict(data)
    return InMemory(label="arrays", batches=lambda: iter([_batch("arrays", columns)]))


def rows_source(function: Callable[[], Iterable[Item]], ts: str) -> InMemory:
    """Return the rows or blocks that a function yields as a source.

    An item is a block if its value for the column `ts` is an array or a list.
    """
    if not callable(function):
        raise DatasetError(f"rows: got {function!r:.60}; give a function without arguments")
    name = getattr(function, "__qualname__", "a function")
    label = f"rows of {name}"
    return InMemory(label=label, batches=lambda: _checked_batches(function, ts, label))


def _checked_batches(
    function: Callable[[], Iterable[Item]], ts: str, label: str
) -> "Iterator[pa.RecordBatch]":
    """Yield the batches of a function after checking that all have the same columns."""
    names: list[str] = []
    for batch in _batches(function, ts, label):
        names = names or batch.schema.names
        if batch.schema.names != names:
            raise DatasetError(
                f"{label}: a block has the columns {', '.join(batch.schema.names)}, the first has "
                f"{', '.join(names)}; give all blocks the same columns in the same order"
            )
        yield batch


def _batches(
    function: Callable[[], Iterable[Item]], ts: str, label: str
) -> "Iterator[pa.RecordBatch]":
    """Yield blocks as batches, and consecutive rows as batches of at most `ROWS`."""
    pending: list[Item] = []
    for number, item in enumerate(function(), start=1):
        if not isinstance(item, Mapping) or ts not in item:
            raise DatasetError(
                f"{label}: item {number} is {item!r:.60}; yield mappings from names of columns, "
                f"with {ts} among them, to values of a row or to arrays of a block"
            )
        is_block = isinstance(item[ts], np.ndarray | list | tuple)
        if pending and (is_block or len(pending) == ROWS):
            yield _batch_of_rows(label, pending)
            pending = []
        if is_block:
            yield _batch(label, dict(item))
        else:
            pending.append(item)
    if pending:
        yield _batch_of_rows(label, pending)


def _batch_of_rows(label: str, rows: Sequence[Item]) -> "pa.RecordBatch":
    """Return rows as a batch; raises `DatasetError` unless all rows have the same columns."""
    names = list(rows[0])
    for row in rows:
        if set(row) != set(names):
            raise DatasetError(
                f"{label}: a row has the columns {', '.join(map(str, row))}, another row has "
                f"{', '.join(map(str, names))}; give None for missing values"
            )
    return _batch(label, {name: [row[name] for row in rows] for name in names})


def _batch(label: str, columns: Item) -> "pa.RecordBatch":
    """Return columns as a batch; raises `DatasetError` unless they are equally long and each has one type."""
    lengths = {str(name): len(values) for name, values in columns.items()}
    if len(set(lengths.values())) != 1:
        shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise DatasetError(f"{label}: columns are not equally long: {shown}")
    arrays = []
    for name, values in columns.items():
        try:
            array = arrow_array(values) if isinstance(values, ListColumn) else pa.array(values)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise DatasetError(
                f"{label}: column {name} is not a column of one type: {error}"
            ) from error
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, [str(name) for name in columns])
