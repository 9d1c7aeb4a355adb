"""Defines what the adapter runs, a query in batch and in micro-batches, and what all queries share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)
from pyspark.sql.streaming.readwriter import DataStreamReader

from streamlab.engines.errors import EngineError
from streamlab.engines.spark.layout import Layout, ddl
from streamlab.workloads.model import Columns, Workload

FileColumns = tuple[tuple[tuple[str, str], ...], ...]
"""Per stream, (name, type) of the columns in its files."""

ROCKS_DB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}
"""The only store that `transformWithStateInPandas` supports. Other queries of the session do not use it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """The outputs of a query, in the order of emission, the number of events read, and the form that ran."""

    columns: Columns
    events: int
    form: str
    counters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkQuery(ABC):
    """A workload to run, with all its settings but without the input.

    Attributes:
        workload: the workload, with its query parameters.
        output: (name, dtype) of the program's output.
        form: how it runs, for users.
        workers: degree of parallelism.
        micro_batch_events: how many events a micro-batch may have.
        ordered: whether Spark sorts the outputs.
    """

    micro_batch_events: ClassVar[int] = 1_000_000
    ordered: ClassVar[bool] = True

    workload: Workload
    output: tuple[tuple[str, str], ...]
    form: str
    workers: int

    @abstractmethod
    def batch(self, session: SparkSession, plan: Layout) -> QueryResult:
        """Return the output of the whole input."""

    @abstractmethod
    def cut(self, plan: Layout, folder: Path, files: int) -> Any:
        """Split an input into `files` files for each of its parts; return the argument for `streaming`."""

    @abstractmethod
    def streaming(
        self, session: SparkSession, files: Any, folder: Path, checkpoint: Path
    ) -> QueryResult:
        """Run the query until all files in the folder are processed.

        Each micro-batch takes one file of every part. A repeated micro-batch replaces its earlier output.
        """


def scan(session: SparkSession, plan: Layout, src: int, row: str = "row_index") -> DataFrame:
    """Return a stream's file up to the cut, with row numbers in column `row`."""
    stream = plan.streams[src]
    frame = session.read.schema(ddl(stream.columns)).parquet(str(stream.path))
    frame = frame.select("*", F.col("_metadata.row_index").alias(row))
    return frame if plan.until_ts is None else frame.where(F.col("ts") < plan.until_ts)


def cache(session: SparkSession, plan: Layout) -> tuple[DataFrame, ...]:
    """Read every stream into Spark's memory, and return the tables; `unpersist` frees them.

    `scan` returns the same plan on every call, and Spark reads a cached plan from memory in any query built on it.

    Raises:
        EngineError: the tables do not fit into memory.
    """
    tables = tuple(scan(session, plan, src).persist() for src in range(len(plan.streams)))
    for table in tables:
        table.count()
    check_memory(session)
    return tables


def check_memory(session: SparkSession) -> None:
    """Check that Spark has not moved parts of cached tables to disk.

    Raises:
        EngineError: a part is on disk.
    """
    context = session.sparkContext._jsc.sc()
    spilled = sum(int(info.diskSize()) for info in context.getRDDStorageInfo())
    if spilled:
        raise EngineError(
            f"spark has too little memory for the input: {spilled:,} bytes of its tables are on "
            "disk and would be read inside the clock; use fewer events, or variant batch"
        )


def reader(
    session: SparkSession, columns: Sequence[tuple[str, str]], files: int = 1
) -> DataStreamReader:
    """Return a reader of files that arrive, of which each micro-batch takes at most `files`."""
    return session.readStream.schema(ddl(columns)).option("maxFilesPerTrigger", files)


def arrow_schema(output: Sequence[tuple[str, str]]) -> pa.Schema:
    """Return (name, dtype) of columns as a schema."""
    return pa.schema([(name, pa.from_numpy_dtype(np.dtype(dtype))) for name, dtype in output])


def columns_of(table: pa.Table) -> Columns:
    """Return the columns of a table as arrays."""
    return {name: table[name].to_numpy() for name in table.column_names}


@contextmanager
def settings(session: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session; they must hold while a query is built, not only while it runs."""
    before = {name: str(session.conf.get(name)) for name in values}
    for name, value in values.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


def run_to_end(
    output: DataFrame,
    checkpoint: Path,
    schema: pa.Schema,
    take: Callable[[DataFrame], pa.Table],
    *,
    form: str,
    heartbeats: int = 0,
) -> QueryResult:
    """Run a query in append mode until all its files are processed, and return its result.

    `take` loads the output of a micro-batch into the driver; a repeated micro-batch replaces its earlier output.
    `checkpoint` is a folder for this query only; `heartbeats` rows of the input are no events.
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
    progress = started.recentProgress
    # The rows in Spark's state store after each micro-batch; 0 if the store counts none.
    state_rows = (sum(o["numRowsTotal"] for o in report["stateOperators"]) for report in progress)
    return QueryResult(
        columns=columns_of(pa.concat_tables([schema.empty_table(), *tables])),
        events=sum(report["numInputRows"] for report in progress) - heartbeats,
        form=form,
        counters={
            "micro_batches": float(len(answers)),
            "state_rows_peak": float(max(state_rows, default=0)),
        },
    )
