"""Makes one table of a run's trials, and files of it that other programs read."""

from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

from results.schema import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa


def as_table(rows: Iterable[Mapping[str, Any]]) -> "pa.Table":
    """Return the trials with the columns of the schema, in the order given."""
    import pyarrow as pa

    return pa.Table.from_pylist(list(rows), schema=arrow_schema())


def parquet_of(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the trials as a Parquet file, with types and documentation of every column."""
    import pyarrow.parquet as pq

    file = BytesIO()
    pq.write_table(as_table(rows), file, compression="zstd")
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
