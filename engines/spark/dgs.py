"""Runs DGS programs: batch queries, and one stateful operator on Structured Streaming."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.state import GroupStateTimeout

from streamlab.engines.spark.batch import bucket_joins, total_order_windows
from streamlab.engines.spark.batch.windows import CrowdedError
from streamlab.engines.spark.files import (
    END,
    check_end,
    equal_cuts,
    heartbeat,
    numbered,
    read_rows,
    write_files,
)
from streamlab.engines.spark.layout import Layout, ddl
from streamlab.engines.spark.query import (
    FileColumns,
    QueryResult,
    SparkQuery,
    arrow_schema,
    reader,
    run_to_end,
)
from streamlab.engines.spark.streaming.groups import labels
from streamlab.engines.spark.streaming.operator import (
    PACKED,
    RESULT,
    STATE,
    StatefulQuery,
    operator,
    packer,
    unpacker,
)

PAYLOADS = {
    "event_window": "ts",
    "fraud_detection": "value",
    "keyed_counter": "ts",
    "page_view_join": "meta",
}
"""The payload column of a workload's separators; `ts` if they have none."""
PER_STREAM = frozenset({"page_view_join"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DgsQuery(SparkQuery):
    """A DGS program to run."""

    # Large (some 200 MB), because a stateful micro-batch costs at least 0.25-0.35 s.
    micro_batch_events: ClassVar[int] = 8_000_000
    ordered: ClassVar[bool] = False

    def batch(self, session: SparkSession, plan: Layout) -> QueryResult:
        """Return the output of the whole input, unordered.

        Form `buckets` falls back to `ordered` if a stream mixes bulk events with separators, or these are too dense.
        """
        if self.form == "buckets" and not plan.mixed:
            try:
                columns = bucket_joins.QUERIES[self.workload.name](session, plan)
            except CrowdedError:
                pass
            else:
                return QueryResult(columns=columns, events=plan.events, form="buckets")
        columns = total_order_windows.run(session, plan, self.workload.name)
        return QueryResult(columns=columns, events=plan.events, form="ordered")

    def cut(self, plan: Layout, folder: Path, files: int) -> StatefulQuery:
        """Split an input into files, and return the description of the streaming query."""
        return self.describe(plan, split(plan, folder, files))

    def streaming(
        self, session: SparkSession, files: StatefulQuery, folder: Path, checkpoint: Path
    ) -> QueryResult:
        """Run the streaming query until all files are processed."""
        sources = []
        for src, columns in enumerate(files.columns):
            frame = reader(session, columns).parquet(str(folder / f"stream-{src}"))
            sources.append(packed_source(files, src, frame))
        ran = run_to_end(
            outputs(sources, files),
            checkpoint,
            arrow_schema(files.output),
            lambda frame: frame.toArrow(),
            form=self.form,
            heartbeats=len(files.kinds),
        )
        return replace(ran, counters={"micro_batches": ran.counters["micro_batches"]})

    def describe(self, plan: Layout, columns: FileColumns, *, beats: bool = False) -> StatefulQuery:
        """Return the description of the streaming query for Python workers."""
        workload = self.workload.name
        return StatefulQuery(
            workload=workload,
            columns=columns,
            kinds=tuple(stream.kinds for stream in plan.streams),
            n_kinds=plan.n_kinds,
            keys=plan.keys,
            payload=PAYLOADS[workload],
            per_stream=workload in PER_STREAM,
            labels=labels(len(plan.streams)),
            output=(*self.output, ("src", "int16")),
            beats=beats,
        )


def packed_source(query: StatefulQuery, src: int, frame: DataFrame) -> DataFrame:
    """Return a stream with its runs of events packed for the groups that need them."""
    return frame.mapInArrow(packer(query, src, query.groups_of(src)), PACKED)


def outputs(sources: Sequence[DataFrame], query: StatefulQuery) -> DataFrame:
    """Return the streaming query's output, from packed events."""
    packed = (
        reduce(DataFrame.unionAll, sources)
        .groupBy("group")
        .applyInPandasWithState(
            operator(query), RESULT, STATE, "append", GroupStateTimeout.NoTimeout
        )
    )
    return packed.mapInArrow(unpacker(query), ddl(query.output))


def split(plan: Layout, folder: Path, files: int) -> FileColumns:
    """Write every stream as `files` files of equal numbers of rows; return the columns of each stream.

    The last file of each stream ends with a heartbeat at `END`, which promises that no event follows. Without it the
    query could not release events that wait for an ended stream.

    Raises:
        EngineError: an event has the event time of that heartbeat.
    """
    columns = []
    for src in range(len(plan.streams)):
        table = read_positioned(plan, src)
        closing = heartbeat(
            table, other=0, **{name: END for name in ("ts", "pos") if name in table.column_names}
        )
        write_files(table, folder / f"stream-{src}", equal_cuts(len(table), files), closing)
        columns.append(file_columns(table))
    return tuple(columns)


def read_positioned(plan: Layout, src: int) -> pa.Table:
    """Return a stream's rows, with the column `pos` if it has separators, which depend on each other in ties.

    Raises:
        EngineError: an event has the event time that is reserved for the closing heartbeat.
    """
    stream = plan.streams[src]
    check_end(stream)
    table = read_rows(stream)
    return table if src in plan.bulk else numbered(table, "pos")


def file_columns(table: pa.Table) -> tuple[tuple[str, str], ...]:
    """Return (name, type) of a table's columns."""
    return tuple((field.name, str(field.type)) for field in table.schema)
