"""Runs the relation of a pipeline, in batch or in micro-batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.protocol import IntArray
from streamlab.engines.spark.files import equal_times
from streamlab.engines.spark.pipelines import linear_road, nexmark, nexmark_windows, retail
from streamlab.engines.spark.pipelines.relation import Relation
from streamlab.engines.spark.query import ROCKS_DB, Part, SparkQuery
from streamlab.workloads.datasets.dataset import Dataset

RELATIONS = {
    **linear_road.RELATIONS,
    **nexmark.RELATIONS,
    **nexmark_windows.RELATIONS,
    **retail.RELATIONS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineQuery(SparkQuery):
    """A pipeline to run; each micro-batch is a complete span of event time."""

    row: ClassVar[str] = "row"
    conf: ClassVar[Mapping[str, str]] = ROCKS_DB

    @property
    def query(self) -> Relation:
        """The pipeline as a relation."""
        return RELATIONS[self.workload.name]

    def parts(self, dataset: Dataset) -> tuple[Part, ...]:
        """Return the streams, with row numbers."""
        names = ("ts", *self.query.fields)
        parts = []
        for src, stream in enumerate(dataset.streams):
            types = {**dict(stream.columns), self.row: "int64"}
            columns = tuple((name, types[name]) for name in (*names, self.row))
            parts.append(Part(src=src, columns=columns))
        return tuple(parts)

    def cut_times(self, dataset: Dataset, files: int) -> IntArray:
        """Return the event times at which the files of all streams end."""
        return equal_times(dataset, files)

    def relation(
        self, frames: Sequence[tuple[Part, DataFrame]], dataset: Dataset, *, streaming: bool
    ) -> DataFrame:
        """Return the output of the relation, in order in batch."""
        records = reduce(
            DataFrame.unionAll,
            (
                frame.select("ts", F.lit(part.src).alias("src"), self.row, *self.query.fields)
                for part, frame in frames
            ),
        )
        params = self.workload.query_params
        if streaming:
            assert self.query.streaming is not None, "queries without `streaming` are refused"
            return self.query.streaming(records, params, self.workers)
        return self.query.batch(records, params).orderBy(*self.query.order)

    def load(self, frame: DataFrame, *, streaming: bool) -> pa.Table:
        """Load an output, in order.

        The sort of a micro-batch uses one partition, because with several Spark would run the query twice to sample the
        ranges.
        """
        if streaming:
            frame = frame.repartition(1).sortWithinPartitions(*self.query.order)
        return frame.select(*(name for name, _ in self.output)).toArrow()
