"""Writes a stream as files that arrive one after the other; the last one closes it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streamlab.engines.spark.generic.tables import ROW
from streamlab.engines.spark.streaming.stream_files import END, ROW_GROUP, stamp


def write(table: pa.Table, folder: Path, files: int) -> None:
    """Write a stream as so many files of equal numbers of rows, with a column ROW.

    Streams are cut by rows, so that the files of different streams do not end at the same time.
    """
    folder.mkdir(parents=True)
    whole = closed(table)
    cuts = [*(len(table) * place // files for place in range(files)), len(whole)]
    for place in range(files):
        path = folder / f"part-{place:05d}.parquet"
        part = whole.slice(cuts[place], cuts[place + 1] - cuts[place])
        pq.write_table(part, path, row_group_size=ROW_GROUP)
        stamp(path, place)


def closed(table: pa.Table) -> pa.Table:
    """Return a stream with its rows numbered and, behind them, a heartbeat: this was all."""
    numbered = table.append_column(ROW, pa.array(range(len(table)), pa.int64()))
    schema = pa.schema([field.with_nullable(True) for field in numbered.schema])
    beat = {"ts": END, ROW: len(table)}
    row = [{name: beat.get(name) for name in schema.names}]
    return pa.concat_tables([numbered.cast(schema), pa.Table.from_pylist(row, schema=schema)])
