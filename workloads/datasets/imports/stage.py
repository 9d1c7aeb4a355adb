"""First step of an import: files to rows, in one Spark task that reads them as a stream.

One task, since line numbers and order are properties of a file read from its beginning, and since
compressed files can only be read so. What follows (dictionaries, sorting, derived streams) is
parallel.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.kind import BadRowError, ImportOptions
from workloads.datasets.imports.registry import import_kind
from workloads.datasets.progress import report

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_PER_GROUP = 1 << 16
_BAD_ROWS_KEPT = 10


@dataclass(slots=True, kw_only=True)
class Reading:
    """What reading the files found.

    Attributes:
        lines: number of lines or CSV records.
        rows: number of good rows.
        bad: number of bad rows.
        bad_lines: the first ten, in words.
        descents: number of rows whose time is before that of the row before.
        first_descent: the first of these, in words.
        error: why a file could not be read to its end.
    """

    lines: int = 0
    rows: int = 0
    bad: int = 0
    bad_lines: list[str] = field(default_factory=list)
    descents: int = 0
    first_descent: str = ""
    error: str = ""

    def check(self, max_bad: int, sort: bool) -> None:
        """Refuse what the person did not ask for.

        Raises:
            DatasetError: a file could not be read, too many rows are bad, rows are not sorted, or
                there is none.
        """
        if self.error:
            raise DatasetError(self.error)
        if self.bad > max_bad:
            more = f"; {self.bad} of {self.lines} lines are bad" if self.bad > 1 else ""
            raise DatasetError(
                f"{self.bad_lines[0]}{more}; mend the file, or leave bad lines out with "
                f"--max-bad {self.bad}"
            )
        if self.descents and not sort:
            raise DatasetError(
                f"{self.first_descent}; {self.descents} of {self.rows} rows are before the row "
                "above them; --sort sorts the rows by time and keeps them all"
            )
        if not self.rows:
            raise DatasetError("the input has no rows; there is nothing to import")


class ReadTask:
    """What the Spark task does: reads files into `rows.parquet` in a folder."""

    def __init__(self, kind: str, options: ImportOptions, folder: Path) -> None:
        self.kind, self.options, self.folder = kind, options, folder

    def __call__(self, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        """Run in the worker; yields the `Reading` as JSON."""
        import json

        import pyarrow as pa  # in the worker

        for batch in batches:
            for _ in range(batch.num_rows):
                yield pa.RecordBatch.from_pydict({"record": [json.dumps(asdict(self.read()))]})

    def read(self) -> Reading:
        """Read all files and return what was found."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = [("row", pa.int64()), ("ts", pa.int64())]
        columns += [
            (name, pa.type_for_alias(alias)) for name, alias in import_kind(self.kind).columns
        ]
        schema = pa.schema(columns)
        found = Reading()
        with pq.ParquetWriter(self.folder / "rows.parquet", schema) as writer:
            pending: list[tuple[Any, ...]] = []
            try:
                for row in self._rows(found):
                    pending.append((found.rows, *row))
                    found.rows += 1
                    if len(pending) == _ROWS_PER_GROUP:
                        writer.write_table(_table(pending, schema))
                        pending.clear()
            except DatasetError as error:
                found.error = str(error)
            writer.write_table(_table(pending, schema))
        return found

    def _rows(self, found: Reading) -> Iterator[tuple[Any, ...]]:
        kind = import_kind(self.kind)
        before, before_place = None, ""
        done = 0
        for path in self.options.files:

            def at(position: int, done: int = done) -> None:
                report(self.folder / "reading.done", done + position)

            for place, fields in kind.read(path, self.options, at):
                found.lines += 1
                try:
                    row = kind.parse(fields, self.options)
                except BadRowError as error:
                    found.bad += 1
                    if len(found.bad_lines) < _BAD_ROWS_KEPT:
                        found.bad_lines.append(f"{place}: {error}: {fields.shown()}")
                    continue
                if row is None:
                    continue
                if before is not None and row[0] < before:
                    found.descents += 1
                    found.first_descent = found.first_descent or (
                        f"{place}: time {row[0]} is before {before} at {before_place}"
                    )
                before, before_place = row[0], place
                yield row
            done += path.stat().st_size


def _table(rows: list[tuple[Any, ...]], schema: "pa.Schema") -> "pa.Table":
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, part.type) for values, part in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)
