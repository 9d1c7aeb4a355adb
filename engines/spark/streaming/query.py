"""Builds and runs the streaming query over the files of `stream_files.split`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.state import GroupStateTimeout

from streamlab.engines.spark.layout import Layout, ddl
from streamlab.engines.spark.streaming.group_labels import labels
from streamlab.engines.spark.streaming.operator import (
    PACKED,
    RESULT,
    STATE,
    Query,
    operator,
    packer,
    unpacker,
)
from streamlab.workloads.model import Columns

PAYLOADS = {
    "event_window": "ts",
    "fraud_detection": "value",
    "keyed_counter": "ts",
    "page_view_join": "meta",
}
"""The payload column of a workload's markers; `ts` if they have none."""
PER_STREAM = frozenset({"page_view_join"})


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """Result of a streaming query: output in the order of emission, rows read, and number of micro-batches.

    Attributes:
        state_rows_peak: the most rows in Spark's state store after a micro-batch; 0 if the store counts none.
    """

    columns: Columns
    rows: int
    micro_batches: int
    state_rows_peak: int = 0


def describe(
    plan: Layout,
    workload: str,
    columns: tuple[tuple[tuple[str, str], ...], ...],
    output: Mapping[str, str],
    *,
    beats: bool = False,
) -> Query:
    """Return the description of a query for Python workers."""
    return Query(
        workload=workload,
        columns=columns,
        kinds=tuple(stream.kinds for stream in plan.streams),
        n_kinds=plan.n_kinds,
        keys=plan.keys,
        payload=PAYLOADS[workload],
        per_stream=workload in PER_STREAM,
        labels=labels(len(plan.streams)),
        output=(*output.items(), ("src", "int16")),
        beats=beats,
    )


def outputs(sources: Sequence[DataFrame], query: Query) -> DataFrame:
    """Return the query's output as a stream, from packed events."""
    packed = (
        reduce(DataFrame.unionAll, sources)
        .groupBy("group")
        .applyInPandasWithState(
            operator(query), RESULT, STATE, "append", GroupStateTimeout.NoTimeout
        )
    )
    return packed.mapInArrow(unpacker(query), ddl(query.output))


def run(session: SparkSession, query: Query, files: Path, checkpoint: Path) -> QueryResult:
    """Run the query until all files are processed.

    Each micro-batch takes one file of every stream. The sink loads its output into the driver as Arrow; a repeated
    micro-batch replaces its earlier output.
    """
    sources = [_source(session, query, files, src) for src in range(len(query.kinds))]
    schema = pa.schema([(name, pa.from_numpy_dtype(dtype)) for name, dtype in query.output])
    return run_to_end(outputs(sources, query), checkpoint, schema, lambda frame: frame.toArrow())


def run_to_end(
    output: DataFrame, checkpoint: Path, schema: pa.Schema, take: Callable[[DataFrame], pa.Table]
) -> QueryResult:
    """Run a query until all its files are processed, and return its result.

    Args:
        output: the query's output, in append mode.
        checkpoint: a folder for this query only, made by Spark.
        schema: schema of the result.
        take: loads the output of a micro-batch into the driver; a repeated micro-batch replaces its earlier output.
    """
    answers: dict[int, pa.Table] = {}

    def sink(frame: DataFrame, batch: int) -> None:
        answers[batch] = take(frame).cast(schema)

    writer = output.writeStream.outputMode("append").foreachBatch(sink)
    started = (
        writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    )
    started.awaitTermination()
    tables = [answers[batch] for batch in sorted(answers)]
    table = pa.concat_tables([schema.empty_table(), *tables])
    progress = started.recentProgress
    return QueryResult(
        columns={name: table[name].to_numpy() for name in schema.names},
        rows=sum(report["numInputRows"] for report in progress),
        micro_batches=len(answers),
        state_rows_peak=max(map(_state_rows, progress), default=0),
    )


def _state_rows(report: StreamingQueryProgress) -> int:
    return sum(operator["numRowsTotal"] for operator in report["stateOperators"])


def _source(session: SparkSession, query: Query, files: Path, src: int) -> DataFrame:
    reader = session.readStream.schema(ddl(query.columns[src])).option("maxFilesPerTrigger", 1)
    frame = reader.parquet(str(files / f"stream-{src}"))
    return frame.mapInArrow(packer(query, src, query.groups_of(src)), PACKED)
