"""Builds and runs a native query in micro-batches: a stateful operator over shares of the work (see work_split.py)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import ClassVar

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.protocol import IntArray
from streamlab.engines.spark.files import END, equal_times, with_columns_read
from streamlab.engines.spark.native.micro_batches import (
    FILES,
    ShareProcessor,
    distribute_files_task,
)
from streamlab.engines.spark.native.query import NativeQuery
from streamlab.engines.spark.native.tasks import BLOCK
from streamlab.engines.spark.query import ROCKS_DB, Part, QueryResult, SparkQuery
from streamlab.engines.spark.streaming.groups import labels
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Dataflow


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeStreamingQuery(NativeQuery):
    """A workload to run natively in micro-batches."""

    micro_batch_events: ClassVar[int] = 8_000_000
    conf: ClassVar[Mapping[str, str]] = {**NativeQuery.conf, **ROCKS_DB}

    def parts(self, dataset: Dataset) -> tuple[Part, ...]:
        """Return the streams, with the columns that the program reads."""
        streams = with_columns_read(dataset, self.workload.program).streams
        return tuple(Part(src=src, columns=stream.columns) for src, stream in enumerate(streams))

    def cut_times(self, dataset: Dataset, files: int) -> IntArray:
        """Return the event times at which the files of all streams end, so that no event waits.

        The files of a typed dataflow graph end at markers.
        """
        program, times = self.workload.program, equal_times(dataset, files)
        if not isinstance(program, Dataflow):
            return times
        ends = [-(-ts // program.markers) * program.markers for ts in times.tolist()]
        return np.array([min(ts, END) for ts in ends], dtype=np.int64)

    def arriving(self, session: SparkSession, part: Part, folder: Path) -> DataFrame:
        """Return the paths of a part's files."""
        files = session.readStream.format("binaryFile").schema(FILES)
        return files.option("maxFilesPerTrigger", 1).load(str(folder)).select("path")

    def relation(
        self, frames: Sequence[tuple[Part, DataFrame]], dataset: Dataset, *, streaming: bool
    ) -> DataFrame:
        """Return the blocks of the answer."""
        reference = self._reference(dataset)
        split = reference.split()
        paths = reduce(DataFrame.unionAll, [frame for _, frame in frames])
        if split.distributes:
            tasks = F.array(*map(F.lit, labels(self.workers)))
            paths = paths.select(F.explode(tasks).alias("task"), "path")
            paths = paths.repartition(self.workers, "task")
            rows = paths.mapInArrow(distribute_files_task(reference), BLOCK)
        else:
            rows = paths.select(F.lit(labels(1)[0]).alias("share"), "path")
        return rows.groupBy("share").transformWithStateInPandas(
            ShareProcessor(reference), BLOCK, outputMode="Append", timeMode="None"
        )

    def streaming(
        self, session: SparkSession, dataset: Dataset, folder: Path, checkpoint: Path
    ) -> QueryResult:
        """Run the query. Spark's own counters are replaced, because they count files and shares."""
        result = SparkQuery.streaming(self, session, dataset, folder, checkpoint)
        counters = {"micro_batches": result.counters["micro_batches"]}
        return replace(result, events=dataset.events, counters=counters)
