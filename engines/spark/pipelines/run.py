"""Runs the relation of a pipeline, in batch or in micro-batches."""

from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.files import bounds, cuts_at, numbered, read_rows, write_files
from streamlab.engines.spark.layout import Layout
from streamlab.engines.spark.pipelines import clicks, linear_road, sales
from streamlab.engines.spark.pipelines.relation import Relation
from streamlab.engines.spark.query import (
    ROCKS_DB,
    FileColumns,
    QueryResult,
    SparkQuery,
    arrow_schema,
    columns_of,
    reader,
    run_to_end,
    scan,
    settings,
)

RELATIONS = {**clicks.RELATIONS, **linear_road.RELATIONS, **sales.RELATIONS}
ROW = "row"
"""The row number in the stream, a column in the files of micro-batches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineQuery(SparkQuery):
    """A pipeline to run."""

    @property
    def relation(self) -> Relation:
        """The pipeline as a relation."""
        return RELATIONS[self.workload.name]

    def batch(self, session: SparkSession, plan: Layout) -> QueryResult:
        """Return the output of the whole input, in order."""
        frames = [
            self._placed(scan(session, plan, src, ROW), src) for src in range(len(plan.streams))
        ]
        records = reduce(DataFrame.unionAll, frames)
        output = self.relation.batch(records, self.workload.query_params)
        table = self._table(output.orderBy(*self.relation.order))
        return QueryResult(columns=columns_of(table), events=plan.events, form=self.form)

    def cut(self, plan: Layout, folder: Path, files: int) -> FileColumns:
        """Split streams into files and return their columns; the i-th files of all end at the same event time."""
        times = bounds(plan, files)
        names = ("ts", *self.relation.fields)
        columns = []
        for src, stream in enumerate(plan.streams):
            placed = numbered(read_rows(stream).select(names), ROW)
            write_files(placed, folder / f"stream-{src}", cuts_at(placed, times))
            types = dict(stream.columns)
            columns.append((*((name, types[name]) for name in names), (ROW, "int64")))
        return tuple(columns)

    def streaming(
        self, session: SparkSession, files: FileColumns, folder: Path, checkpoint: Path
    ) -> QueryResult:
        """Run the query until all files are processed.

        Each micro-batch is a complete span of event time. Spark sorts its output before the driver takes it.
        """
        frames = [
            self._placed(reader(session, columns).parquet(str(folder / f"stream-{src}")), src)
            for src, columns in enumerate(files)
        ]
        records = reduce(DataFrame.unionAll, frames)
        output = self.relation.streaming(records, self.workload.query_params, self.workers)
        with settings(session, ROCKS_DB):
            return run_to_end(
                output, checkpoint, arrow_schema(self.output), self._sorted, form=self.form
            )

    def _sorted(self, frame: DataFrame) -> pa.Table:
        """Return the sorted output of a micro-batch.

        The sort uses one partition: over several, Spark would run the query twice to sample the ranges.
        """
        return self._table(frame.repartition(1).sortWithinPartitions(*self.relation.order))

    def _placed(self, frame: DataFrame, src: int) -> DataFrame:
        return frame.select("ts", F.lit(src).alias("src"), ROW, *self.relation.fields)

    def _table(self, ordered: DataFrame) -> pa.Table:
        table = ordered.select(*(name for name, _ in self.output)).toArrow()
        return table.cast(arrow_schema(self.output))
