"""Writes a stream as files for micro-batches; the last file ends with a closing heartbeat."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streamlab.engines.spark.generic.tables import ROW
from streamlab.engines.spark.streaming.stream_files import END, ROW_GROUP, stamp


def write(table: pa.Table, folder: Path, files: int) -> None:
    """Write a stream as `files` files of equal numbers of rows, with a column ROW.

    Files are split by rows, so that those of different streams do not end at the same event time.
    """
    folder.mkdir(parents=True)
    rows = closed(table)
    cuts = [*(len(table) * place // files for place in range(files)), len(rows)]
    for place in range(files):
        path = folder / f"part-{place:05d}.parquet"
        part = rows.slice(cuts[place], cuts[place + 1] - cuts[place])
        pq.write_table(part, path, row_group_size=ROW_GROUP)
        stamp(path, place)


def closed(table: pa.Table) -> pa.Table:
    """Return a stream with numbered rows, output_table by a heartbeat that closes it."""
    numbered = table.append_column(ROW, pa.array(range(len(table)), pa.int64()))
    schema = pa.schema([field.with_nullable(True) for field in numbered.schema])
    beat = {"ts": END, ROW: len(table)}
    row = [{name: beat.get(name) for name in schema.names}]
    return pa.concat_tables([numbered.cast(schema), pa.Table.from_pylist(row, schema=schema)])
