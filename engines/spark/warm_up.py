"""Writes a short input for the warm-up: the beginning of every stream."""

from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamlab.engines.spark.layout import Layout


def prefix(plan: Layout, folder: Path, events: int) -> Layout:
    """Write the first part of every stream, up to one event time, and return it as an input.

    Args:
        plan: the whole input; returned unchanged if it has at most `events` events.
        folder: where to write.
        events: about how many events to write.
    """
    total = sum(stream.rows for stream in plan.streams)
    if total <= events:
        return plan
    folder.mkdir(parents=True)
    begin = min(stream.ts_min for stream in plan.streams if stream.rows)
    end = max(stream.ts_max for stream in plan.streams if stream.rows)
    until = begin + (end - begin) * events // total
    streams = []
    for src, stream in enumerate(plan.streams):
        table = pq.read_table(stream.path, filters=pc.field("ts") <= until)
        path = folder / f"{src}.parquet"
        pq.write_table(table, path)
        bounds = pc.min_max(table["ts"]).as_py() if len(table) else {"min": 0, "max": 0}
        streams.append(
            replace(stream, path=path, rows=len(table), ts_min=bounds["min"], ts_max=bounds["max"])
        )
    return replace(plan, streams=tuple(streams))
