"""Splits each stream into the files of micro-batches, and closes it with a heartbeat.

The last file of each stream ends with a row whose event time is `END`: a heartbeat that promises that no event
follows. Without it the query could not release events that wait for an ended stream.
"""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamlab.engines.errors import EngineError
from streamlab.engines.spark.layout import Layout, read_rows
from streamlab.workloads.datasets.dataset import DatasetStream

END = np.iinfo(np.int64).max
"""Event time of the closing heartbeat; above that of any event."""
ROW_GROUP = 1 << 18
"""Rows per row group, the unit by which Spark splits a file among tasks."""


def split(plan: Layout, folder: Path, files: int) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Write every stream as `files` files of equal numbers of rows; return the columns of each stream.

    Streams are split by rows, so that their micro-batches do not end at the same event time. A stream with markers
    gets a column `pos`, the position of each row: markers depend on each other, so ties must keep their order.

    Raises:
        EngineError: an event has the event time that is reserved for the closing heartbeat.
    """
    return tuple(
        _split_stream(plan, src, folder / f"stream-{src}", files)
        for src in range(len(plan.streams))
    )


def read_positioned(plan: Layout, src: int) -> pa.Table:
    """Return a stream's rows; with the column `pos` if it has markers.

    Raises:
        EngineError: an event has the event time that is reserved for the closing heartbeat.
    """
    stream = plan.streams[src]
    check_end(stream)
    table = read_rows(stream)
    if src in plan.bulk:
        return table
    return table.append_column("pos", pa.array(np.arange(len(table), dtype=np.int64)))


def check_end(stream: DatasetStream) -> None:
    """Check that no event has the time of the closing heartbeat.

    Raises:
        EngineError: an event has it.
    """
    if stream.rows and stream.ts_max == END:
        raise EngineError(
            f"stream {stream.name} of {stream.path} has an event at {END}, the largest event time, "
            "which the spark engine reserves for its closing heartbeat; shift the event times down"
        )


def stamp(path: Path, place: int) -> None:
    """Set a file's modification time by its place, which orders files for Spark's file source."""
    os.utime(path, (1_000_000_000 + place, 1_000_000_000 + place))


def _split_stream(plan: Layout, src: int, folder: Path, files: int) -> tuple[tuple[str, str], ...]:
    folder.mkdir(parents=True)
    table = read_positioned(plan, src)
    closing = pa.table(
        {f.name: pa.array([END if f.name in ("ts", "pos") else 0], f.type) for f in table.schema},
        schema=table.schema,
    )
    cuts = [len(table) * i // files for i in range(files + 1)]
    for i in range(files):
        part = table.slice(cuts[i], cuts[i + 1] - cuts[i])
        if i == files - 1:
            part = pa.concat_tables([part, closing])
        path = folder / f"part-{i:05d}.parquet"
        pq.write_table(part, path, row_group_size=ROW_GROUP)
        stamp(path, i)
    return tuple((field.name, str(field.type)) for field in table.schema)
