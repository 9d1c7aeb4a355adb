"""Builds and runs a batch query whose tasks run compiled code on packed columns.

Tasks read files and distribute their rows to shares of the work. Spark moves the rows, as blocks, to one task per
share, which computes its part of the answer. Variant `native` is such a query.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from streamlab.engines.spark.files import with_columns_read
from streamlab.engines.spark.generic.task_reference import describe_task
from streamlab.engines.spark.native.blocks import unpack_blocks
from streamlab.engines.spark.native.tasks import (
    BLOCK,
    NativeReference,
    answer_task,
    distribute_task,
    first_rows,
    whole_task,
)
from streamlab.engines.spark.query import Part, SparkQuery
from streamlab.engines.work_split import WorkSplit
from streamlab.workloads.datasets.arrow import arrow_array
from streamlab.workloads.datasets.dataset import Dataset

TASKS_A_WORKER = 2
"""Tasks that read files, per worker; two balance the load."""

CHECKED_ROWS = 1 << 14
"""Rows of each stream that `check` processes: enough for many separators, but little work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeQuery(SparkQuery):
    """A workload to run natively; see `SplitsWork` for `partials`."""

    # A batch has few blocks, because binary values of an Arrow batch have at most 2 GiB.
    conf: ClassVar[Mapping[str, str]] = {"spark.sql.execution.arrow.maxRecordsPerBatch": "16"}

    partials: bool

    def parts(self, dataset: Dataset) -> tuple[Part, ...]:
        """Return an empty tuple, because tasks read the files themselves."""
        return ()

    def relation(
        self, frames: Sequence[tuple[Part, DataFrame]], dataset: Dataset, *, streaming: bool
    ) -> DataFrame:
        """Return the blocks of the answer."""
        reference = self._reference(dataset)
        pieces = reference.pieces()
        session, split = SparkSession.active(), reference.split()
        if not split.distributes:
            return session.range(0, 1, 1, 1).mapInArrow(whole_task(reference, pieces), BLOCK)
        tasks = max(1, min(len(pieces), TASKS_A_WORKER * self.workers))
        numbers = session.range(0, len(pieces), 1, tasks)
        blocks = numbers.mapInArrow(distribute_task(reference, pieces), BLOCK)
        return blocks.repartition(split.shares, "share").mapInArrow(answer_task(reference), BLOCK)

    def load(self, frame: DataFrame, *, streaming: bool) -> pa.Table:
        """Load an output into the driver, and merge shares by event time."""
        schema = self.schema()
        blocks = frame.select("share", "part", "records").toArrow()
        blocks = blocks.sort_by([("share", "ascending"), ("part", "ascending")])
        answers = [unpack_blocks([records.as_buffer()]) for records in blocks["records"]]
        if not answers:
            return schema.empty_table()
        tables = [
            pa.table({name: arrow_array(column) for name, column in columns.items()})
            for columns in answers
        ]
        answer = pa.concat_tables(tables)
        share = np.repeat(blocks["share"].to_numpy(), [len(table) for table in tables])
        if share[0] == share[-1]:
            return answer
        return answer.take(_by_time(answer["ts"].to_numpy(), share))

    def check(self, dataset: Dataset) -> WorkSplit:
        """Compile the program, process the first rows of an input in this process, and return the split.

        Raises:
            NoPartialsError: partial states depend on earlier states.
            UnsupportedError, EngineError: see `WorkSplit.answer`.
        """
        reference = self._reference(dataset)
        split, streams = reference.split(), first_rows(reference.streams, CHECKED_ROWS)
        shared = [streams[src] for src in split.shared]
        first_share = [split.distribute(src, rows, shared)[0] for src, rows in enumerate(streams)]
        split.answer(0, first_share)
        return split

    def _reference(self, dataset: Dataset) -> NativeReference:
        dataset = with_columns_read(dataset, self.workload.program)
        streams = tuple(replace(stream, heartbeats=()) for stream in dataset.streams)
        return NativeReference(
            task=describe_task(self.workload, dataset, workers=self.workers),
            code=self.workload.code(),
            dataset=replace(dataset, streams=streams),
            partials=self.partials,
        )


def _by_time(ts: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the order of rows by time. A row that is late in its share counts with the latest time before it."""
    time = ts.copy()
    begins = np.flatnonzero(np.diff(share, prepend=-1))
    for begin, end in zip(begins, [*begins[1:], len(time)], strict=True):
        time[begin:end] = np.maximum.accumulate(time[begin:end])
    return np.argsort(time, kind="stable")
