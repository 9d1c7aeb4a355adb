"""Defines the base class of the adapter's queries, which run in batch and in micro-batches."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)
from pyspark.sql.streaming.readwriter import DataStreamReader

from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import IntArray
from streamlab.engines.spark.files import (
    append_heartbeat,
    append_row_numbers,
    cuts_at,
    equal_cuts,
    read_rows,
    write_files,
)
from streamlab.engines.spark.layout import ddl
from streamlab.workloads.datasets.dataset import Dataset, DatasetStream
from streamlab.workloads.model import Columns, Workload

FileColumns = tuple[tuple[str, str], ...]
"""Name and type of each column in a part's files."""

ROCKS_DB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}
"""Selects the only state store that `transformWithStateInPandas` supports; other queries keep the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """The result of a query.

    Attributes:
        columns: outputs, in the order of emission.
        events: number of events read.
        counters: figures by name.
    """

    columns: Columns
    events: int
    counters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The rows of a stream, or of one kind in a stream, which have their own files.

    Attributes:
        src: index of the stream.
        columns: columns of the files.
        kind: the kind of the rows; None if the part has all rows of the stream.
    """

    src: int
    columns: FileColumns
    kind: int | None = None

    @property
    def folder(self) -> str:
        """The name of the folder with the part's files."""
        kind = "" if self.kind is None else f"-kind-{self.kind}"
        return f"stream-{self.src}{kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkQuery(ABC):
    """A workload to run, with all settings but without the input.

    Attributes:
        workload: the workload, with its query parameters.
        output: name and dtype of each column of the program's output.
        form: how the query runs, in words for users.
        workers: degree of parallelism.
        micro_batch_events: maximum number of events of a micro-batch.
        ordered: whether Spark sorts the outputs.
        row: the name of the column of row numbers.
        conf: settings of the session while the query is built.
    """

    micro_batch_events: ClassVar[int] = 1_000_000
    ordered: ClassVar[bool] = True
    row: ClassVar[str] = "row_index"
    conf: ClassVar[Mapping[str, str]] = {}

    workload: Workload
    output: tuple[tuple[str, str], ...]
    form: str
    workers: int

    @abstractmethod
    def parts(self, dataset: Dataset) -> tuple[Part, ...]:
        """Return the parts of an input, each with the columns that the query reads."""

    @abstractmethod
    def relation(
        self, frames: Sequence[tuple[Part, DataFrame]], dataset: Dataset, *, streaming: bool
    ) -> DataFrame:
        """Return the output of an input, whose parts are `frames`."""

    @abstractmethod
    def load(self, frame: DataFrame, *, streaming: bool) -> pa.Table:
        """Load the output of the whole input or of a micro-batch into the driver."""

    def cut_times(self, dataset: Dataset, files: int) -> IntArray | None:
        """Return the event times at which the files of all parts end; None if files have equal numbers of rows."""
        return None

    def closing(self, dataset: Dataset, table: pa.Table) -> Mapping[str, int]:
        """Return the columns of the heartbeat that follows the rows of a part; empty for no heartbeat."""
        return {}

    def schema(self) -> pa.Schema:
        """Return the schema of the loaded output."""
        return arrow_schema(self.output if self.ordered else (*self.output, ("src", "int16")))

    def batch(self, session: SparkSession, dataset: Dataset) -> QueryResult:
        """Return the output of the whole input."""
        parts = self.parts(dataset)
        with settings(session, self.conf):
            frames = [(part, self.scan(session, dataset, part)) for part in parts]
            table = self.load(self.relation(frames, dataset, streaming=False), streaming=False)
        columns = columns_of(table.cast(self.schema()))
        return QueryResult(columns=columns, events=dataset.events)

    def scan(self, session: SparkSession, dataset: Dataset, part: Part) -> DataFrame:
        """Return the rows of a part's stream."""
        return scan(session, dataset, part.src, self.row)

    def arriving(self, session: SparkSession, part: Part, folder: Path) -> DataFrame:
        """Return the rows of a part from the files of a folder; each micro-batch takes one file."""
        return reader(session, part.columns).parquet(str(folder))

    def cut(self, dataset: Dataset, folder: Path, files: int) -> int:
        """Split each part of an input into `files` files; return the number of heartbeats in them."""
        times = self.cut_times(dataset, files)
        heartbeats = 0
        for part in self.parts(dataset):
            table = self.table(dataset, part)
            cuts = equal_cuts(len(table), files) if times is None else cuts_at(table, times)
            closing = self.closing(dataset, table)
            if closing:
                table = append_heartbeat(table, closing)
                cuts[-1] += 1
                heartbeats += 1
            write_files(table, folder / part.folder, cuts)
        return heartbeats

    def table(self, dataset: Dataset, part: Part) -> pa.Table:
        """Return the rows of a part."""
        table = read_rows(dataset.streams[part.src])
        if part.kind is not None and "tag" in table.column_names:
            kinds = table["tag"].to_numpy() % len(dataset.alphabet.kinds)
            table = table.take(np.flatnonzero(kinds == part.kind))
        return append_row_numbers(table, self.row).select([name for name, _ in part.columns])

    def streaming(
        self, session: SparkSession, dataset: Dataset, folder: Path, checkpoint: Path
    ) -> QueryResult:
        """Run the query until all files in the folder are processed.

        Each micro-batch takes one file of every part. A repeated micro-batch replaces its earlier output. The events
        of the result include heartbeats. `checkpoint` is a folder for this query only.
        """
        schema = self.schema()
        answers: dict[int, pa.Table] = {}

        def sink(frame: DataFrame, batch: int) -> None:
            answers[batch] = self.load(frame, streaming=True).cast(schema)

        with settings(session, self.conf):
            frames = [
                (part, self.arriving(session, part, folder / part.folder))
                for part in self.parts(dataset)
            ]
            output = self.relation(frames, dataset, streaming=True)
            writer = output.writeStream.outputMode("append").foreachBatch(sink)
            writer = writer.option("checkpointLocation", str(checkpoint))
            query = writer.trigger(availableNow=True).start()
            query.awaitTermination()
        progress = query.recentProgress
        # The rows in Spark's state store after each micro-batch; 0 if the store does not count rows.
        state = (sum(o["numRowsTotal"] for o in report["stateOperators"]) for report in progress)
        tables = [answers[batch] for batch in sorted(answers)]
        return QueryResult(
            columns=columns_of(pa.concat_tables([schema.empty_table(), *tables])),
            events=sum(report["numInputRows"] for report in progress),
            counters={
                "micro_batches": float(len(answers)),
                "state_rows_peak": float(max(state, default=0)),
            },
        )


def scan(session: SparkSession, dataset: Dataset, src: int, row: str = "row_index") -> DataFrame:
    """Return a stream's file up to the cut, with row numbers in column `row`."""
    stream = dataset.streams[src]
    frame = session.read.schema(ddl(stream.columns)).parquet(*map(str, stream.paths))
    frame = frame.select("*", _row_number(stream).alias(row))
    return frame if dataset.until_ts is None else frame.where(F.col("ts") < dataset.until_ts)


def _row_number(stream: DatasetStream) -> Column:
    """Return a row's number in its stream: its number in the file plus the rows of the files before."""
    number = F.col("_metadata.row_index")
    if not stream.further:
        return number
    first_row = F.lit(0)
    for file in stream.further:
        is_here = F.col("_metadata.file_name") == file.path.name
        first_row = F.when(is_here, F.lit(file.first_row)).otherwise(first_row)
    return number + first_row


def cache(session: SparkSession, dataset: Dataset) -> tuple[DataFrame, ...]:
    """Read every stream into Spark's memory, and return the tables.

    `scan` returns the same plan on every call, and Spark reads a cached plan from memory in any query built on it.

    Raises:
        EngineError: the tables do not fit.
    """
    tables = tuple(scan(session, dataset, src).persist() for src in range(len(dataset.streams)))
    for table in tables:
        table.count()
    check_memory(session)
    return tables


def check_memory(session: SparkSession) -> None:
    """Raise EngineError if Spark has moved parts of cached tables to disk."""
    context = session.sparkContext._jsc.sc()
    spilled_bytes = sum(int(rdd.diskSize()) for rdd in context.getRDDStorageInfo())
    if spilled_bytes:
        raise EngineError(
            f"spark has too little memory for the input: {spilled_bytes:,} bytes of its tables are on "
            "disk, so the run would read from disk; use fewer events, or variant batch"
        )


def reader(
    session: SparkSession, columns: Sequence[tuple[str, str]], files: int = 1
) -> DataStreamReader:
    """Return a reader of arriving files; each micro-batch takes at most `files`."""
    return session.readStream.schema(ddl(columns)).option("maxFilesPerTrigger", files)


def arrow_schema(output: Sequence[tuple[str, str]]) -> pa.Schema:
    """Return names and dtypes of columns as a schema."""
    return pa.schema([(name, pa.from_numpy_dtype(np.dtype(dtype))) for name, dtype in output])


def columns_of(table: pa.Table) -> Columns:
    """Return the columns of a table as arrays."""
    return {name: table[name].to_numpy() for name in table.column_names}


@contextmanager
def settings(session: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session in a block. Spark reads some settings only while a query is built."""
    previous = {name: str(session.conf.get(name)) for name in values}
    for name, value in values.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in previous.items():
            session.conf.set(name, value)
