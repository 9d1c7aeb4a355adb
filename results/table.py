"""Converts a run's trials to an Arrow table, and to Parquet and CSV for other programs."""

import json
from collections.abc import Collection, Iterable
from io import BytesIO

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json
import pyarrow.parquet as pq

from streamlab.results.schema import TrialRow, arrow_schema, columns_of


def as_table(rows: Iterable[TrialRow]) -> pa.Table:
    """Return the trials as a table with the columns of the schema.

    Expects values from `streamlab.results.row_conversion.convert_row`.
    Converts through JSON: Arrow's own conversion of Python objects imports pandas if installed, which
    would add a quarter of a second to each `lab run`.
    """
    schema = arrow_schema()
    lines = "\n".join(json.dumps(columns_of(row)) for row in rows).encode()
    if not lines:
        return schema.empty_table()
    table = pa_json.read_json(
        BytesIO(lines),
        # A row may not span blocks; this block holds all rows.
        read_options=pa_json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        parse_options=pa_json.ParseOptions(explicit_schema=schema),
    )
    return table.cast(schema)


def table_of(content: bytes) -> pa.Table:
    """Read the content of a Parquet file as a table, without pandas, which `read_table` imports.

    Raises:
        OSError, pyarrow.ArrowException: the content is damaged.
    """
    # One thread: a short process that ends while Arrow's threads start is aborted.
    with pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True) as file:
        return file.read(use_threads=False)


def parquet_of(rows: Iterable[TrialRow]) -> bytes:
    """Return the trials as a Parquet file, with types and documentation of every column."""
    file = BytesIO()
    pq.write_table(as_table(rows), file, compression="zstd", write_page_checksum=True)
    return file.getvalue()


def csv_of(rows: Iterable[TrialRow], *, without: Collection[str] | None = None) -> bytes:
    """Return the trials as CSV in UTF-8 with a header line.

    Null is an empty field; an empty text is quoted. Numbers survive a round trip exactly.
    `without` names columns to leave out; columns without any value are then left out, too. None keeps all
    columns.
    """
    table = as_table(rows)
    if without is not None:
        count = table.num_rows
        table = table.drop_columns(
            [
                name
                for name, column in zip(table.column_names, table.columns, strict=True)
                if name in without or column.null_count == count
            ]
        )
    file = BytesIO()
    pa_csv.write_csv(table, file)
    return file.getvalue()
