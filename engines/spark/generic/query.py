"""Builds and runs a generic query, in batch or in micro-batches."""

from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from streamlab.engines.spark.files import (
    END,
    check_end,
    equal_cuts,
    heartbeat,
    nullable,
    numbered,
    read_rows,
    write_files,
)
from streamlab.engines.spark.generic.steps import PARCEL
from streamlab.engines.spark.generic.tables import ROW, sort_by_place, unpack
from streamlab.engines.spark.generic.task_reference import TaskReference, describe_task
from streamlab.engines.spark.generic.workers import (
    SegmentProcessor,
    group_step,
    packer,
    segments_of,
)
from streamlab.engines.spark.layout import Layout
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
from streamlab.workloads.model import Workload, fields_read

SETTINGS = {**ROCKS_DB, "spark.sql.caseSensitive": "true"}
"""Allow states of several operators in a row, and field names that differ only in case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """An input split into files: columns and kinds of each stream, and the task's description for workers."""

    columns: FileColumns
    kinds: tuple[tuple[int, ...], ...]
    reference: TaskReference


@dataclass(frozen=True, slots=True, kw_only=True)
class GenericQuery(SparkQuery):
    """A workload to run generically; its form describes how the program is split."""

    def batch(self, session: SparkSession, plan: Layout) -> QueryResult:
        """Return the output of the whole input, in order."""
        reference = self._reference(plan)
        with settings(session, SETTINGS):
            frames = []
            for src, stream in enumerate(plan.streams):
                check_end(stream)
                frame = scan(session, self._read(plan), src, ROW)
                frames.append(frame.mapInArrow(packer(reference, stream.kinds, src), PARCEL))
            parcels = reduce(DataFrame.unionAll, frames)
            for index in range(len(segments_of(reference).segments)):
                parcels = parcels.groupBy("group").applyInArrow(
                    group_step(reference, index), PARCEL
                )
            columns = columns_of(self._load(parcels, reference))
        return QueryResult(columns=columns, events=plan.events, form=self.form)

    def cut(self, plan: Layout, folder: Path, files: int) -> Files:
        """Write each stream as `files` files of equal numbers of rows; the last file ends with a heartbeat."""
        columns = []
        for src, stream in enumerate(self._read(plan).streams):
            check_end(stream)
            table = nullable(numbered(read_rows(stream), ROW))
            closing = heartbeat(table, **{"ts": END, ROW: len(table)})
            write_files(table, folder / f"stream-{src}", equal_cuts(len(table), files), closing)
            columns.append((*stream.columns, (ROW, "int64")))
        kinds = tuple(stream.kinds for stream in plan.streams)
        return Files(columns=tuple(columns), kinds=kinds, reference=self._reference(plan))

    def streaming(
        self, session: SparkSession, files: Files, folder: Path, checkpoint: Path
    ) -> QueryResult:
        """Run the query until all files are processed; the sink sorts the output of a micro-batch."""
        reference = files.reference
        with settings(session, SETTINGS):
            frames = []
            for src, columns in enumerate(files.columns):
                frame = reader(session, columns).parquet(str(folder / f"stream-{src}"))
                frames.append(frame.mapInArrow(packer(reference, files.kinds[src], src), PARCEL))
            parcels = reduce(DataFrame.unionAll, frames)
            for index in range(len(segments_of(reference).segments)):
                parcels = parcels.groupBy("group").transformWithStateInPandas(
                    SegmentProcessor(reference, index), PARCEL, outputMode="Append", timeMode="None"
                )
            return run_to_end(
                parcels,
                checkpoint,
                arrow_schema(self.output),
                lambda frame: self._load(frame, reference),
                form=self.form,
                heartbeats=len(files.columns),
            )

    def _reference(self, plan: Layout) -> TaskReference:
        return describe_task(self.workload, plan, workers=self.workers)

    def _read(self, plan: Layout) -> Layout:
        """Return an input with only the columns that the program reads."""
        names = {"ts", "tag", *fields_read(self.workload.program)}
        streams = (
            replace(stream, columns=tuple(c for c in stream.columns if c[0] in names))
            for stream in plan.streams
        )
        return replace(plan, streams=tuple(streams))

    def _load(self, frame: DataFrame, reference: TaskReference) -> pa.Table:
        """Load an output into the driver, in order."""
        schema = arrow_schema(self.output)
        last = segments_of(reference).segments[-1]
        parcels = frame.select("records").toArrow()["records"]
        tables = [unpack(records.as_buffer()) for records in parcels]
        if not tables:
            return schema.empty_table()
        return sort_by_place(tables, last.places_out).select(schema.names)


def describe_split(workload: Workload, plan: Layout, workers: int) -> str:
    """Describe how a program is split, for users."""
    return segments_of(describe_task(workload, plan, workers=workers)).description
