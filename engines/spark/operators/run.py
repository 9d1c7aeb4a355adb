"""Runs the relation of a query of operators, in batch or in micro-batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.protocol import IntArray
from streamlab.engines.spark.files import equal_times
from streamlab.engines.spark.operators.clock import Clock, clock
from streamlab.engines.spark.operators.relations import RELATIONS, Inputs, Relation
from streamlab.engines.spark.query import Part, SparkQuery
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Query

TASKS_PER_WORKER = 4
"""Tasks per worker of a batch join. Buckets differ in size, and several tasks balance them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorQuery(SparkQuery):
    """A query of operators to run; each kind of tuples in a stream is a part."""

    ordered: ClassVar[bool] = False

    @property
    def program(self) -> Query:
        """The workload's program."""
        assert isinstance(self.workload.program, Query)
        return self.workload.program

    @property
    def query(self) -> Relation:
        """The query as a relation."""
        return RELATIONS[self.workload.name]

    def parts(self, dataset: Dataset) -> tuple[Part, ...]:
        """Return the parts of an input, by stream, then kind."""
        parts = []
        for src, stream in enumerate(dataset.streams):
            types = dict(stream.columns)
            for kind in stream.kinds:
                tuples = self.program.operators[0].inputs[kind]
                fields = (*(tuples.fields.names or ()), *(name for name, _ in tuples.lists))
                columns = tuple((name, types[name]) for name in ("ts", *fields))
                parts.append(Part(src=src, kind=kind, columns=columns))
        return tuple(parts)

    def cut_times(self, dataset: Dataset, files: int) -> IntArray | None:
        """Return the event times at which files end, if these must be equal in all streams, else None."""
        return equal_times(dataset, files) if self.query.aligned else None

    def closing(self, dataset: Dataset, table: pa.Table) -> dict[str, int]:
        """Return a heartbeat at the end of the input, if outputs wait for the watermark."""
        return {"ts": self._clock(dataset).end} if self.query.closes else {}

    def relation(
        self, frames: Sequence[tuple[Part, DataFrame]], dataset: Dataset, *, streaming: bool
    ) -> DataFrame:
        """Return the output of the relation."""
        kinds: dict[str, list[DataFrame]] = {name: [] for name in self.program.kinds}
        times = self._clock(dataset)
        for part, rows in frames:
            frame, kind = rows, part.kind
            assert kind is not None, "parts of queries have a kind"
            if "tag" in frame.columns:
                frame = frame.where(F.expr(f"tag % {len(dataset.alphabet.kinds)} = {kind}"))
            source = F.lit(part.src).cast("short").alias("src")
            frame = frame.select("ts", source, *(name for name, _ in part.columns[1:]))
            if self.query.delay_ms is not None:
                frame = frame.withColumn("time", F.expr(times.time("ts")))
                # Each part has a watermark, and Spark uses the earliest.
                frame = frame.withWatermark("time", f"{self.query.delay_ms} milliseconds")
            kinds[self.program.kinds[kind]].append(frame)
        inputs = Inputs(
            kinds={name: reduce(DataFrame.unionAll, parts) for name, parts in kinds.items()},
            params=self.workload.query_params,
            clock=times,
            tasks=TASKS_PER_WORKER * self.workers,
            streaming=streaming,
        )
        return self.query.build(inputs)

    def load(self, frame: DataFrame, *, streaming: bool) -> pa.Table:
        """Load an output, which has no order, and sort the output of a micro-batch by time."""
        table = frame.toArrow()
        return table.sort_by("ts") if streaming else table

    def _clock(self, dataset: Dataset) -> Clock:
        return clock(dataset, self.program.operators[0].window.advance)
