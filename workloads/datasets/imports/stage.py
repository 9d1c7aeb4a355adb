"""The steps of an import, each a function of an index that runs in this process or on Spark.

1. `ReadTask`: files to blocks of rows. One task, since line numbers and order are properties of a
   file read from its beginning, and since compressed files can only be read so.
2. `DeriveTask`, where the kind has something to derive (words of texts): a block each.
3. `NumberTask`: texts to numbers by first appearance, in order, and so one task again.
4. `StreamTask`: the rows, in order of time, to a stream each.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workloads.datasets.arrow import Column, column_of
from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.dictionary import Numbering
from workloads.datasets.imports.kind import BadRowError, ImportOptions, StreamTable
from workloads.datasets.imports.raw import At
from workloads.datasets.imports.registry import import_kind
from workloads.datasets.imports.rows import BLOCK_ROWS, Rows, RowsWriter
from workloads.datasets.progress import report
from workloads.datasets.stream_file import write_stream
from workloads.datasets.text.report import RowReport
from workloads.model import Alphabet

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(slots=True, kw_only=True)
class Reading(RowReport):
    """What reading the files found.

    Attributes:
        lines: number of lines of all rows, good, bad or skipped by the kind.
        blocks: number of blocks of rows.
        times: how times were read (`TimeReader.report`).
        descents: number of rows whose time is before that of the row before.
        first_descent: the first of these, in words.
        error: why a file could not be read to its end.
    """

    lines: int = 0
    blocks: int = 0
    times: dict[str, Any] = field(default_factory=dict)
    descents: int = 0
    first_descent: str = ""
    error: str = ""

    def descent(self, place: str, ts: int, before: int, before_place: str) -> None:
        """Count a row whose time is before that of the row before."""
        self.descents += 1
        self.first_descent = self.first_descent or (
            f"{place}: time {ts} is before {before} at {before_place}"
        )

    def check(self, max_bad: int, sort: bool) -> None:
        """Refuse what the person did not ask for.

        Raises:
            DatasetError: a file could not be read, too many rows are bad, rows are not sorted, or
                there is none.
        """
        if self.error:
            raise DatasetError(self.error)
        if self.bad and not self.rows:
            raise DatasetError(
                f"{self.bad_lines[0]}; none of the {self.lines:,} lines can be read, so this is "
                "not what the import reads, or its options do not fit"
            )
        if self.bad > max_bad:
            more = f"; {self.bad} of {self.lines} lines are bad" if self.bad > 1 else ""
            raise DatasetError(f"{self.bad_lines[0]}{more}; {self.excess()}")
        if self.descents and not sort:
            raise DatasetError(
                f"{self.first_descent}; {self.descents} of {self.rows} rows are before the row "
                "above them; --sort sorts the rows by time and keeps them all"
            )
        if not self.rows:
            raise DatasetError("the input has no rows; there is nothing to import")


class ReadTask:
    """Reads all files into blocks of rows, `raw-<number>.arrow` in a folder; index 0 only."""

    def __init__(self, kind: str, options: ImportOptions, folder: Path) -> None:
        self.kind, self.options, self.folder = kind, options, folder

    def __call__(self, index: int) -> dict[str, Any]:
        """Return the fields of the `Reading`."""
        return asdict(self.read())

    def read(self) -> Reading:
        """Read all files and return what was found."""
        import pyarrow as pa

        kinds = import_kind(self.kind).columns
        columns = [("row", pa.int64()), ("ts", pa.int64())]
        schema = pa.schema([*columns, *((name, pa.type_for_alias(kind)) for name, kind in kinds)])
        found = Reading()
        of_lines = import_kind(self.kind).read_parsed is None
        batches = self._of_lines(found, schema) if of_lines else self._parsed(found)
        try:
            for batch in batches:
                _write(raw_block(self.folder, found.blocks), batch)
                found.blocks += 1
        except DatasetError as error:
            found.error = str(error)
        if of_lines:
            found.times = self.options.times.report()
        return found

    def _of_lines(self, found: Reading, schema: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        pending: list[tuple[Any, ...]] = []
        for row in self._rows(found):
            pending.append((found.rows, *row))
            found.rows += 1
            if len(pending) == BLOCK_ROWS:
                yield _batch(pending, schema)
                pending.clear()
        if pending:
            yield _batch(pending, schema)

    def _rows(self, found: Reading) -> Iterator[tuple[Any, ...]]:
        kind = import_kind(self.kind)
        assert kind.read is not None and kind.parse is not None, "it has no read_parsed"
        before, before_place = None, ""
        for path, at in self._files():
            for place, fields in kind.read(path, self.options, at):
                further = fields.further
                found.lines += 1 + further
                self.options.times.place = place
                try:
                    row = kind.parse(fields, self.options)
                except BadRowError as error:
                    found.bad_row(f"{place}: {error}: {fields.shown()}", further)
                    continue
                if further:
                    found.row_of_lines(place, further)
                if row is None:
                    continue
                if before is not None and row[0] < before:
                    found.descent(place, row[0], before, before_place)
                before, before_place = row[0], place
                yield row

    def _parsed(self, found: Reading) -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        read_parsed = import_kind(self.kind).read_parsed
        assert read_parsed is not None, "who calls has looked"
        before, before_place = None, ""
        for path, at in self._files():
            for rows in read_parsed(path, self.options, at):
                found.lines += rows.read
                for line, words in rows.bad:
                    found.bad_row(f"{rows.place}:{line}: {words}")
                count = rows.batch.num_rows
                if not count:
                    continue
                ts = rows.batch.column("ts").to_numpy()
                first, last = (f"{rows.place}:{line}" for line in rows.lines[[0, -1]])
                if before is not None and ts[0] < before:
                    found.descent(first, int(ts[0]), before, before_place)
                for row in (np.flatnonzero(ts[1:] < ts[:-1]) + 1).tolist():
                    above = f"{rows.place}:{rows.lines[row - 1]}"
                    place = f"{rows.place}:{rows.lines[row]}"
                    found.descent(place, int(ts[row]), int(ts[row - 1]), above)
                before, before_place = int(ts[-1]), last
                number = pa.array(np.arange(found.rows, found.rows + count))
                found.rows += count
                names = ["row", *rows.batch.schema.names]
                yield pa.RecordBatch.from_arrays([number, *rows.batch.columns], names)

    def _files(self) -> Iterator[tuple[Path, At]]:
        """Yield the files, and what to tell how many bytes of each have been read."""
        done = 0
        for path in self.options.files:

            def at(position: int, done: int = done) -> None:
                report(self.folder / "reading.done", done + position)

            yield path, at
            done += path.stat().st_size


class DeriveTask:
    """Turns a block of rows into `derived-<number>.arrow` beside it."""

    def __init__(self, derive: "Callable[[pa.RecordBatch], pa.RecordBatch]", folder: Path) -> None:
        self.derive, self.folder = derive, folder

    def __call__(self, index: int) -> None:
        """Derive the block of that number."""
        batch = read_block(raw_block(self.folder, index))
        _write(derived_block(self.folder, index), self.derive(batch))


class NumberTask:
    """Numbers the texts of all blocks, in order; writes `Rows` and dictionaries; index 0 only."""

    def __init__(self, kind: str, blocks: tuple[Path, ...], rows: Path, folder: Path) -> None:
        self.kind, self.blocks, self.rows, self.folder = kind, blocks, rows, folder

    def __call__(self, index: int) -> dict[str, Any]:
        """Return the fields of the `Numbered`."""
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
            "entries": {found.name: len(numbering) for found, numbering in numberings.items()},
            "sha256": {
                found.name: numbering.write(self.folder / f"{found.name}.parquet")
                for found, numbering in numberings.items()
            },
        }


class StreamTask:
    """Writes the stream of its index."""

    def __init__(
        self, tables: tuple[StreamTable, ...], rows: Rows, folder: Path, alphabet: Alphabet
    ) -> None:
        self.tables, self.rows, self.folder, self.alphabet = tables, rows, folder, alphabet

    def __call__(self, index: int) -> dict[str, Any]:
        """Return the fields of the `WrittenStream`."""
        table = self.tables[index]
        blocks = table.blocks(self.rows.blocks())
        written = write_stream(
            self.folder, table.name, table.kinds, table.dtypes, blocks, self.alphabet
        )
        return asdict(written)


def raw_block(folder: Path, index: int) -> Path:
    """Return where a block of rows is, as it was read."""
    return folder / f"raw-{index}.arrow"


def derived_block(folder: Path, index: int) -> Path:
    """Return where a block of rows is, with what was derived from it."""
    return folder / f"derived-{index}.arrow"


def read_block(path: Path) -> "pa.RecordBatch":
    """Return a block of rows."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        return reader.get_batch(0)


def _write(path: Path, batch: "pa.RecordBatch") -> None:
    import pyarrow as pa

    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)


def _batch(rows: list[tuple[Any, ...]], schema: "pa.Schema") -> "pa.RecordBatch":
    import pyarrow as pa

    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, part.type) for values, part in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
