"""Spark frames to files: streams and dictionaries, each in one sorted Parquet file."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from workloads.datasets.arrow import column_of
from workloads.datasets.build import record_of
from workloads.datasets.imports.kind import Dictionary, Table
from workloads.datasets.manifest import WrittenStream
from workloads.datasets.stream_file import write_stream
from workloads.model import Block, ColumnType

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def write_table(table: Table, folder: Path) -> WrittenStream:
    """Sort a frame into one partition and write it as a stream."""
    task = _StreamTask(folder, table.name, table.kinds, table.dtypes)
    ordered = table.frame.repartition(1).sortWithinPartitions(*table.order)
    records = ordered.select(*table.dtypes).mapInArrow(task, "record string").collect()
    if not records:  # Spark starts no task for a frame that it knows to be empty
        return write_stream(folder, table.name, table.kinds, table.dtypes, iter(()))
    return record_of(json.loads(records[0].record))


class _StreamTask:
    def __init__(
        self,
        folder: Path,
        name: str,
        kinds: tuple[int, ...],
        dtypes: Mapping[str, ColumnType],
    ) -> None:
        self.folder, self.name, self.kinds, self.dtypes = folder, name, kinds, dtypes

    def __call__(self, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa  # in the worker

        def blocks() -> Iterator[Block]:
            for batch in batches:
                if batch.num_rows:
                    yield {name: column_of(batch.column(name)) for name in self.dtypes}

        written = write_stream(self.folder, self.name, self.kinds, self.dtypes, blocks())
        yield pa.RecordBatch.from_pydict({"record": [json.dumps(asdict(written))]})


def write_dictionary(rows: "DataFrame", dictionary: Dictionary, folder: Path) -> int:
    """Number the values of a column by first appearance and write `<name>.parquet`.

    Returns:
        The number of different values.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    first = _values(rows, dictionary).groupBy("text").agg(f.min("place").alias("first"))
    numbered = first.select(
        (f.row_number().over(Window.orderBy("first")) - 1).alias("id"), f.col("text")
    )
    task = _DictionaryTask(folder / f"{dictionary.name}.parquet")
    ordered = numbered.repartition(1).sortWithinPartitions("id")
    records = ordered.mapInArrow(task, "entries long").collect()
    # As above: no task for no texts at all, such as hashtags where nobody uses them.
    return int(records[0].entries) if records else task.write(iter(()))


def texts_sha256(path: Path) -> str:
    """Return the SHA-256 of a dictionary's texts in order of their ids, in hex.

    Each text comes after its length in UTF-8, a little-endian 8-byte number. Unlike the bytes of
    the file, it does not depend on a library's version.
    """
    import pyarrow.parquet as pq

    digest = hashlib.sha256()
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=["text"]):
            for text in batch.column(0).to_pylist():
                encoded = text.encode()
                digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def encode(rows: "DataFrame", dictionary: Dictionary, entries: "DataFrame") -> "DataFrame":
    """Return rows with the ids of a column's texts: `<name>_id`, or `<name>_ids` for lists.

    Args:
        rows: what the dictionary was written from.
        dictionary: which column.
        entries: the dictionary: `id` and `text`.
    """
    from pyspark.sql import functions as f

    if not _of_lists(rows, dictionary):
        ids = entries.select(
            f.col("id").alias(f"{dictionary.name}_id"), f.col("text").alias(dictionary.column)
        )
        return rows.join(ids, dictionary.column)
    column = f"{dictionary.name}_ids"
    placed = f.array_sort(f.collect_list(f.struct("place.at", "id")))
    lists = (
        _values(rows, dictionary)
        .join(entries, "text")
        .groupBy(f.col("place.row").alias("row"))
        .agg(f.transform(placed, lambda item: item["id"]).alias(column))
    )
    empty = f.array().cast("array<int>")
    return rows.join(lists, "row", "left").withColumn(column, f.coalesce(column, empty))


def _of_lists(rows: "DataFrame", dictionary: Dictionary) -> bool:
    from pyspark.sql.types import ArrayType

    return isinstance(rows.schema[dictionary.column].dataType, ArrayType)


def _values(rows: "DataFrame", dictionary: Dictionary) -> "DataFrame":
    """Return (text, place) of every text in a column; a place is a row, and where in its list."""
    from pyspark.sql import functions as f

    if _of_lists(rows, dictionary):
        rows = rows.select("row", f.posexplode(dictionary.column).alias("at", "text"))
    else:
        rows = rows.select("row", f.lit(0).alias("at"), f.col(dictionary.column).alias("text"))
    return rows.select("text", f.struct("row", "at").alias("place"))


class _DictionaryTask:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa  # in the worker

        yield pa.RecordBatch.from_pydict({"entries": pa.array([self.write(batches)], pa.int64())})

    def write(self, batches: "Iterator[pa.RecordBatch]") -> int:
        """Write the file; returns how many entries it has."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema([("id", pa.int32()), ("text", pa.string())])
        entries = 0
        with pq.ParquetWriter(self.path, schema) as writer:
            for batch in batches:
                writer.write_table(pa.Table.from_batches([batch]).cast(schema))
                entries += batch.num_rows
        return entries
