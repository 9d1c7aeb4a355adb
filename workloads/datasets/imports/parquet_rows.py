"""Reads Parquet as if it were CSV: chosen columns, each value as text."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.csv_rows import Cells, read_csv
from workloads.datasets.imports.kind import ImportOptions
from workloads.datasets.imports.raw import At

if TYPE_CHECKING:
    import pyarrow as pa

_MAGIC = b"PAR1"
_ROWS = 1 << 14
"""Turned into text at a time; bounds the memory."""


def read_table(path: Path, options: ImportOptions, at: At) -> Iterator[tuple[str, Cells]]:
    """Yield (place, cells) of all rows of a Parquet or CSV file: `ImportKind.read`.

    The content tells which it is. CSV is read as `read_csv` says.

    Raises:
        DatasetError: a column is missing or cannot be text, or the file cannot be read.
    """
    with path.open("rb") as file:
        parquet = file.read(len(_MAGIC)) == _MAGIC
    return read_parquet(path, options, at) if parquet else read_csv(path, options, at)


def read_parquet(path: Path, options: ImportOptions, at: At) -> Iterator[tuple[str, Cells]]:
    """Yield (place, cells) of all rows of a Parquet file; rows count from 1.

    `options.columns` names the column of each role. Times become ISO 8601, in UTC where they have a
    zone, to the microsecond; a missing value becomes an empty text.

    Raises:
        DatasetError: a column is missing or cannot be text, or the file is truncated or damaged.
    """
    import pyarrow as pa  # heavy
    import pyarrow.parquet as pq

    if not options.columns:
        raise DatasetError("Parquet needs --columns, such as ts=time,item=product")
    row, size = 0, path.stat().st_size
    try:
        with path.open("rb") as raw, pq.ParquetFile(raw) as file:
            _check(path, file.schema_arrow, options)
            wanted = list(dict.fromkeys(options.columns.values()))
            for batch in file.iter_batches(batch_size=_ROWS, columns=wanted):
                columns = {name: _texts(batch.column(name)) for name in wanted}
                chosen = [columns[name] for name in options.columns.values()]
                for values in zip(*chosen, strict=True):
                    row += 1
                    cells = dict(zip(options.columns, values, strict=True))
                    yield f"{path}: row {row}", Cells(path.name, cells)
                at(size * row // max(1, file.metadata.num_rows))
    except (pa.ArrowException, OSError) as error:
        raise DatasetError(f"{path} cannot be read as Parquet after row {row}: {error}") from error


def _check(path: Path, schema: "pa.Schema", options: ImportOptions) -> None:
    import pyarrow as pa

    for role, name in options.columns.items():
        found = schema.get_all_field_indices(name)
        if len(found) != 1:
            wrong = "several columns" if found else "no column"
            raise DatasetError(f"{path}: {wrong} {name}; there are {', '.join(schema.names)}")
        kind = schema.field(found[0]).type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind):
            raise DatasetError(f"{path}: column {name} is of type {kind}, which is no {role}")


def _texts(column: "pa.Array") -> list[str]:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type):  # nanoseconds are more than Python's times hold
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return [_text(value) for value in column.to_pylist()]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value.isoformat() if hasattr(value, "isoformat") else value)
