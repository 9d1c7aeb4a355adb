"""Runs the relation of a pipeline, in batch or in micro-batches."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.batch.markers import scan
from streamlab.engines.spark.layout import Layout, ddl, read_rows
from streamlab.engines.spark.operators.split import bounds, cuts_at, write
from streamlab.engines.spark.pipelines.registry import relation
from streamlab.engines.spark.streaming.query import QueryResult, run_to_end
from streamlab.workloads.model import Columns, Workload

ROW = ("row", "int64")
"""The row number in the stream, a column in the files of micro-batches."""

STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
"""The only store that `transformWithStateInPandas` supports. Other queries of the session do not use it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipelines:
    """A pipeline to run.

    Attributes:
        workload: the workload, with its query parameters.
        output: (name, dtype) of the pipeline's output.
        workers: degree of parallelism.
    """

    workload: Workload
    output: tuple[tuple[str, str], ...]
    workers: int

    def batch(self, session: SparkSession, plan: Layout) -> Columns:
        """Return the output of the whole input, in order."""
        frames = [self._placed(scan(session, plan, src), src) for src in range(len(plan.streams))]
        pipeline = relation(self.workload.name)
        records = reduce(DataFrame.unionAll, frames)
        output = pipeline.batch(records, self.workload.query_params).orderBy(*pipeline.order)
        return self._columns([self._table(output)])

    def cut(
        self, plan: Layout, folder: Path, files: int
    ) -> tuple[tuple[tuple[str, str], ...], ...]:
        """Split streams into files and return their columns; the i-th files of all end at the same event time."""
        times = bounds(plan, files)
        fields = relation(self.workload.name).fields
        columns = []
        for src, stream in enumerate(plan.streams):
            table = read_rows(stream).select(["ts", *fields])
            rows = pa.array(range(len(table)), pa.int64())
            placed = table.append_column(ROW[0], rows)
            write(placed, folder / f"stream-{src}", cuts_at(table, times).tolist())
            types = dict(stream.columns)
            columns.append((*((name, types[name]) for name in ("ts", *fields)), ROW))
        return tuple(columns)

    def streaming(
        self,
        session: SparkSession,
        files: tuple[tuple[tuple[str, str], ...], ...],
        folder: Path,
        checkpoint: Path,
    ) -> QueryResult:
        """Run the query until all files are processed.

        Each micro-batch takes one file of every stream, which is a complete span of event time. Spark sorts its
        output before the driver takes it; a repeated micro-batch replaces its earlier output.
        """
        pipeline = relation(self.workload.name)
        frames = []
        for src, columns in enumerate(files):
            reader = session.readStream.schema(ddl(columns)).option("maxFilesPerTrigger", 1)
            frames.append(self._placed(reader.parquet(str(folder / f"stream-{src}")), src))
        records = reduce(DataFrame.unionAll, frames)
        output = pipeline.streaming(records, self.workload.query_params, self.workers)
        store = str(session.conf.get(STORE))
        session.conf.set(STORE, ROCKS_DB)
        try:
            return run_to_end(output, checkpoint, self._schema, self._ordered)
        finally:
            session.conf.set(STORE, store)

    def _ordered(self, frame: DataFrame) -> pa.Table:
        """Return the sorted output of a micro-batch.

        The sort uses one partition: over several, Spark would run the query twice to sample the ranges.
        """
        order = relation(self.workload.name).order
        return self._table(frame.repartition(1).sortWithinPartitions(*order))

    def _placed(self, frame: DataFrame, src: int) -> DataFrame:
        row = F.col("row") if "row" in frame.columns else F.col("row_index").alias("row")
        return frame.select(
            "ts", F.lit(src).alias("src"), row, *relation(self.workload.name).fields
        )

    def _table(self, ordered: DataFrame) -> pa.Table:
        return ordered.select(*(name for name, _ in self.output)).toArrow().cast(self._schema)

    @property
    def _schema(self) -> pa.Schema:
        return pa.schema([(name, pa.from_numpy_dtype(dtype)) for name, dtype in self.output])

    def _columns(self, tables: list[pa.Table]) -> Columns:
        table = pa.concat_tables([self._schema.empty_table(), *tables])
        return {name: table[name].to_numpy() for name in self._schema.names}


def pipelines(workload: Workload, output: Mapping[str, str], workers: int) -> Pipelines:
    """Return the pipeline of a workload, ready to run."""
    return Pipelines(workload=workload, output=tuple(output.items()), workers=workers)
