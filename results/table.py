"""Makes one table of a run's trials, and files of it that other programs read."""

import json
from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

from streamlab.results.schema import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa


def as_table(rows: Iterable[Mapping[str, Any]]) -> "pa.Table":
    """Return the trials with the columns of the schema, in the order given.

    Values are as `streamlab.results.fit.fitted` leaves them. By way of JSON: Arrow's own conversion of Python
    objects imports pandas where that is installed, a quarter of a second of each `lab run`.
    """
    import pyarrow.json

    schema = arrow_schema()
    known = ({name: row.get(name) for name in schema.names} for row in rows)
    lines = "\n".join(map(json.dumps, known)).encode()
    if not lines:
        return schema.empty_table()
    table = pyarrow.json.read_json(
        BytesIO(lines),
        # A block holds whole rows, and this one all.
        read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        parse_options=pyarrow.json.ParseOptions(explicit_schema=schema),
    )
    return table.cast(schema)


def table_of(content: bytes) -> "pa.Table":
    """Return the content of a Parquet file as a table, without pandas, which `read_table` imports.

    Raises:
        OSError, pyarrow.ArrowException: it is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    # On one thread: a short process may end while threads of Arrow begin, which aborts it.
    with pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True) as file:
        return file.read(use_threads=False)


def parquet_of(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the trials as a Parquet file, with types and documentation of every column."""
    import pyarrow.parquet as pq

    file = BytesIO()
    pq.write_table(as_table(rows), file, compression="zstd", write_page_checksum=True)
    return file.getvalue()


def csv_of(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the trials as CSV in UTF-8 with a line of names.

    Nothing between commas is no value; an empty text is quoted. Numbers are written such that they
    read back exactly.
    """
    import pyarrow.csv

    file = BytesIO()
    pyarrow.csv.write_csv(as_table(rows), file)
    return file.getvalue()
