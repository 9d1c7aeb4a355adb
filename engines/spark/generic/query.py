"""Builds and runs a generic query, in batch or in micro-batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from streamlab.engines.spark.files import END, check_end, with_columns_read
from streamlab.engines.spark.generic.segments import Segments
from streamlab.engines.spark.generic.steps import PARCEL
from streamlab.engines.spark.generic.tables import ROW, sort_by_place, unpack
from streamlab.engines.spark.generic.task_reference import describe_task
from streamlab.engines.spark.generic.workers import SegmentProcessor, group_step, packer
from streamlab.engines.spark.query import ROCKS_DB, Part, SparkQuery, scan
from streamlab.workloads.datasets.dataset import Dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class GenericQuery(SparkQuery):
    """A workload to run generically; `split` is its program in segments."""

    row: ClassVar[str] = ROW
    conf: ClassVar[Mapping[str, str]] = {**ROCKS_DB, "spark.sql.caseSensitive": "true"}
    """Allow states of several operators in a row, and field names that differ only in case."""

    split: Segments

    def parts(self, dataset: Dataset) -> tuple[Part, ...]:
        """Return the streams, with the columns that the program reads and row numbers."""
        parts = []
        for src, stream in enumerate(with_columns_read(dataset, self.workload.program).streams):
            check_end(stream)
            parts.append(Part(src=src, columns=(*stream.columns, (self.row, "int64"))))
        return tuple(parts)

    def scan(self, session: SparkSession, dataset: Dataset, part: Part) -> DataFrame:
        """Return the rows of a stream, with the columns that the program reads."""
        return scan(session, with_columns_read(dataset, self.workload.program), part.src, self.row)

    def closing(self, dataset: Dataset, table: pa.Table) -> dict[str, int]:
        """Return a heartbeat at `END`."""
        return {"ts": END, self.row: len(table)}

    def relation(
        self, frames: Sequence[tuple[Part, DataFrame]], dataset: Dataset, *, streaming: bool
    ) -> DataFrame:
        """Return the parcels of the last segment (see steps.py)."""
        reference = describe_task(self.workload, dataset, workers=self.workers)
        packed = []
        for part, frame in frames:
            kinds = dataset.streams[part.src].kinds
            packed.append(frame.mapInArrow(packer(reference, kinds, part.src), PARCEL))
        parcels = reduce(DataFrame.unionAll, packed)
        for index in range(len(self.split.segments)):
            groups = parcels.groupBy("group")
            if streaming:
                parcels = groups.transformWithStateInPandas(
                    SegmentProcessor(reference, index), PARCEL, outputMode="Append", timeMode="None"
                )
            else:
                parcels = groups.applyInArrow(group_step(reference, index), PARCEL)
        return parcels

    def load(self, frame: DataFrame, *, streaming: bool) -> pa.Table:
        """Load an output into the driver, in order."""
        schema = self.schema()
        parcels = frame.select("records").toArrow()["records"]
        tables = [unpack(records.as_buffer()) for records in parcels]
        if not tables:
            return schema.empty_table()
        return sort_by_place(tables, self.split.segments[-1].places_out).select(schema.names)
