"""Runs DGS programs: batch queries, and one stateful operator on Structured Streaming."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.state import GroupStateTimeout

from streamlab.engines.spark.batch import bucket_joins
from streamlab.engines.spark.files import END, check_end
from streamlab.engines.spark.layout import BULK, ddl
from streamlab.engines.spark.query import Part, QueryResult, SparkQuery
from streamlab.engines.spark.streaming.groups import labels
from streamlab.engines.spark.streaming.operator import (
    PACKED,
    RESULT,
    STATE,
    StatefulQuery,
    operator,
    packer,
    unpacker,
)
from streamlab.workloads.datasets.dataset import Dataset

PAYLOADS = {
    "event_window": "ts",
    "fraud_detection": "value",
    "keyed_counter": "ts",
    "page_view_join": "meta",
}
"""The payload column of a workload's separators; `ts` if they have no payload."""
PER_STREAM = frozenset({"page_view_join"})
"""Workloads whose streams of bulk events each have their own group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DgsQuery(SparkQuery):
    """A DGS program to run."""

    # A micro-batch has some 200 MB, because a stateful micro-batch takes at least 0.25 to 0.35 s.
    micro_batch_events: ClassVar[int] = 8_000_000
    ordered: ClassVar[bool] = False
    row: ClassVar[str] = "pos"

    def batch(self, session: SparkSession, dataset: Dataset) -> QueryResult:
        """Return the output of the whole input, unordered."""
        columns = bucket_joins.QUERIES[self.workload.name](session, dataset)
        return QueryResult(columns=columns, events=dataset.events)

    def parts(self, dataset: Dataset) -> tuple[Part, ...]:
        """Return the streams. Streams with separators have positions, because separators of equal time are ordered."""
        parts = []
        for src, stream in enumerate(dataset.streams):
            check_end(stream)
            position = () if stream.kinds == BULK else ((self.row, "int64"),)
            parts.append(Part(src=src, columns=(*stream.columns, *position)))
        return tuple(parts)

    def closing(self, dataset: Dataset, table: pa.Table) -> dict[str, int]:
        """Return a heartbeat at `END`, which promises that no event follows.

        Without it the query could not release events that wait for an ended stream.
        """
        return {**dict.fromkeys(table.column_names, 0), "ts": END, self.row: END}

    def streaming(
        self, session: SparkSession, dataset: Dataset, folder: Path, checkpoint: Path
    ) -> QueryResult:
        """Run the query. The result lacks the counter of state rows, which would only count groups."""
        result = SparkQuery.streaming(self, session, dataset, folder, checkpoint)
        return replace(result, counters={"micro_batches": result.counters["micro_batches"]})

    def relation(
        self, frames: Sequence[tuple[Part, DataFrame]], dataset: Dataset, *, streaming: bool
    ) -> DataFrame:
        """Return the output of the stateful operator."""
        query = self.describe(dataset)
        return outputs([packed_source(query, part.src, frame) for part, frame in frames], query)

    def load(self, frame: DataFrame, *, streaming: bool) -> pa.Table:
        """Load an output without sorting, because the operator emits each stream's outputs in order."""
        return frame.toArrow()

    def describe(self, dataset: Dataset, *, beats: bool = False) -> StatefulQuery:
        """Return the description of the streaming query for Python workers."""
        workload = self.workload.name
        return StatefulQuery(
            workload=workload,
            columns=tuple(part.columns for part in self.parts(dataset)),
            kinds=tuple(stream.kinds for stream in dataset.streams),
            n_kinds=len(dataset.alphabet.kinds),
            keys=dataset.alphabet.keys,
            payload=PAYLOADS[workload],
            per_stream=workload in PER_STREAM,
            labels=labels(len(dataset.streams)),
            output=(*self.output, ("src", "int16")),
            beats=beats,
        )


def packed_source(query: StatefulQuery, src: int, frame: DataFrame) -> DataFrame:
    """Return a stream's events, packed into a row for each run and each group that needs it (streaming/operator.py)."""
    return frame.mapInArrow(packer(query, src, query.groups_of(src)), PACKED)


def outputs(sources: Sequence[DataFrame], query: StatefulQuery) -> DataFrame:
    """Return the streaming query's output, from packed events."""
    packed = (
        reduce(DataFrame.unionAll, sources)
        .groupBy("group")
        .applyInPandasWithState(
            operator(query), RESULT, STATE, "append", GroupStateTimeout.NoTimeout
        )
    )
    return packed.mapInArrow(unpacker(query), ddl(query.output))
