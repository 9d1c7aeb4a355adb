"""Builds and runs a generic query, in batch or in micro-batches."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from streamlab.engines.spark.batch.markers import scan
from streamlab.engines.spark.generic.files import write
from streamlab.engines.spark.generic.steps import PARCEL
from streamlab.engines.spark.generic.tables import ROW, sort_by_place, unpack
from streamlab.engines.spark.generic.task_reference import TaskReference, describe_task
from streamlab.engines.spark.generic.workers import (
    SegmentProcessor,
    group_step,
    packer,
    segments_of,
)
from streamlab.engines.spark.layout import Layout, ddl, read_rows
from streamlab.engines.spark.pipelines.run import ROCKS_DB, STORE
from streamlab.engines.spark.streaming.query import QueryResult, run_to_end
from streamlab.engines.spark.streaming.stream_files import check_end
from streamlab.workloads.model import Columns, Workload, fields_read

CASE = "spark.sql.caseSensitive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """An input split into files: columns and kinds of each stream, and the task's description for workers."""

    columns: tuple[tuple[tuple[str, str], ...], ...]
    kinds: tuple[tuple[int, ...], ...]
    reference: TaskReference


@dataclass(frozen=True, slots=True, kw_only=True)
class GenericQuery:
    """A workload to run generically, with a degree of parallelism.

    Attributes:
        workload: the workload.
        workers: degree of parallelism.
    """

    workload: Workload
    workers: int

    def description(self, plan: Layout) -> str:
        """Describe how the program is split, for users."""
        return segments_of(self._reference(plan)).description

    def batch(self, session: SparkSession, plan: Layout) -> Columns:
        """Return the output of the whole input, in order."""
        with _settings(session):
            table = self._batch(session, plan)
        return {name: table[name].to_numpy() for name in self._schema.names}

    def _batch(self, session: SparkSession, plan: Layout) -> pa.Table:
        reference = self._reference(plan)
        frames = []
        plan = self._read(plan)
        for src, stream in enumerate(plan.streams):
            check_end(stream)
            frame = scan(session, plan, src, ROW)
            frames.append(frame.mapInArrow(packer(reference, stream.kinds, src), PARCEL))
        parcels = reduce(DataFrame.unionAll, frames)
        for index in range(len(segments_of(reference).segments)):
            parcels = parcels.groupBy("group").applyInArrow(group_step(reference, index), PARCEL)
        return self._load(parcels, reference)

    def cut(self, plan: Layout, folder: Path, files: int) -> Files:
        """Write each stream as `files` files of equal numbers of rows; the last file ends with a heartbeat."""
        columns = []
        for src, stream in enumerate(self._read(plan).streams):
            check_end(stream)
            write(read_rows(stream), folder / f"stream-{src}", files)
            columns.append((*stream.columns, (ROW, "int64")))
        kinds = tuple(stream.kinds for stream in plan.streams)
        return Files(columns=tuple(columns), kinds=kinds, reference=self._reference(plan))

    def streaming(
        self, session: SparkSession, files: Files, folder: Path, checkpoint: Path
    ) -> QueryResult:
        """Run the query until all files are processed; `rows` are events, without heartbeats.

        Each micro-batch takes one file of every stream. The sink sorts its output; a repeated micro-batch replaces
        its earlier output.
        """
        with _settings(session):
            ran = self._streaming(session, files, folder, checkpoint)
        return replace(ran, rows=ran.rows - len(files.columns))

    def _streaming(
        self, session: SparkSession, files: Files, folder: Path, checkpoint: Path
    ) -> QueryResult:
        reference = files.reference
        frames = []
        for src, columns in enumerate(files.columns):
            reader = session.readStream.schema(ddl(columns)).option("maxFilesPerTrigger", 1)
            frame = reader.parquet(str(folder / f"stream-{src}"))
            frames.append(frame.mapInArrow(packer(reference, files.kinds[src], src), PARCEL))
        parcels = reduce(DataFrame.unionAll, frames)
        for index in range(len(segments_of(reference).segments)):
            parcels = parcels.groupBy("group").transformWithStateInPandas(
                SegmentProcessor(reference, index), PARCEL, outputMode="Append", timeMode="None"
            )
        return run_to_end(
            parcels, checkpoint, self._schema, lambda frame: self._load(frame, reference)
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
        last = segments_of(reference).segments[-1]
        parcels = frame.select("records").toArrow()["records"]
        tables = [unpack(records.as_buffer()) for records in parcels]
        if not tables:
            return self._schema.empty_table()
        return sort_by_place(tables, last.places_out).select(self._schema.names)

    @property
    def _schema(self) -> pa.Schema:
        output = self.workload.program.output
        types = ((name, pa.from_numpy_dtype(output[name])) for name in output.names or ())
        return pa.schema(types)


@contextmanager
def _settings(session: SparkSession) -> Iterator[None]:
    """Allow field names that differ only in case, and states of several operators in a row.

    Both settings must hold while a query is built, not only while it runs.
    """
    before = {name: session.conf.get(name) for name in (CASE, STORE)}
    session.conf.set(CASE, "true")
    session.conf.set(STORE, ROCKS_DB)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, str(value))
