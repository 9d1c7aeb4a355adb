"""Runs the relation of a query, in batch or in micro-batches."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.batch.markers import scan
from streamlab.engines.spark.layout import Layout, ddl
from streamlab.engines.spark.operators.clock import Clock, clock
from streamlab.engines.spark.operators.registry import relation
from streamlab.engines.spark.operators.relation import Inputs
from streamlab.engines.spark.operators.split import Part, parts, split
from streamlab.engines.spark.streaming.query import QueryResult, run_to_end
from streamlab.workloads.model import Columns, Params, Query, Workload

TASKS_PER_WORKER = 4
"""Tasks per worker of a batch join: buckets differ in size, and several tasks balance them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """An input split into the files of micro-batches, by part."""

    parts: tuple[Part, ...]
    clock: Clock
    heartbeats: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorQuery:
    """A query to run.

    Attributes:
        workload: the workload's name.
        query: the workload's program.
        params: the query's parameters.
        output: (name, dtype) of the program's output.
        form: one of the workload's forms.
        workers: degree of parallelism.
    """

    workload: str
    query: Query
    params: Params
    output: tuple[tuple[str, str], ...]
    form: str
    workers: int

    @property
    def schema(self) -> pa.Schema:
        """Schema of the sink."""
        fields = (*self.output, ("src", "int16"))
        return pa.schema([(name, pa.from_numpy_dtype(dtype)) for name, dtype in fields])

    def batch(self, session: SparkSession, plan: Layout) -> Columns:
        """Return the output of the whole input, unordered."""
        times = _clock(plan, self)
        frames = []
        for part in parts(plan, self.query):
            frame = scan(session, plan, part.src)
            if "tag" in frame.columns:
                frame = frame.where(F.expr(f"tag % {plan.n_kinds} = {part.kind}"))
            frames.append((part, frame))
        table = _build(frames, self, times, streaming=False).toArrow().cast(self.schema)
        return {name: table[name].to_numpy() for name in self.schema.names}

    def cut(self, plan: Layout, folder: Path, files: int) -> Files:
        """Split an input into the files of micro-batches."""
        query_relation, times = relation(self.workload), _clock(plan, self)
        return Files(
            parts=split(
                plan,
                self.query,
                folder,
                files,
                aligned=query_relation.aligned,
                closing=times.end if query_relation.closes else None,
            ),
            clock=times,
            heartbeats=len(parts(plan, self.query)) if query_relation.closes else 0,
        )

    def streaming(
        self, session: SparkSession, files: Files, folder: Path, checkpoint: Path
    ) -> QueryResult:
        """Run the query until all files are processed; `rows` are events, without heartbeats.

        Each micro-batch takes one file of every part. Its output is a relation without an order: the sink loads it
        into the driver and sorts it by time.
        """
        frames = []
        for part in files.parts:
            reader = session.readStream.schema(ddl(part.columns)).option("maxFilesPerTrigger", 1)
            frames.append((part, reader.parquet(str(folder / part.name))))
        ran = run_to_end(
            _build(frames, self, files.clock, streaming=True),
            checkpoint,
            self.schema,
            lambda frame: frame.toArrow().sort_by("ts"),
        )
        return replace(ran, rows=ran.rows - files.heartbeats)


def operator_query(
    workload: Workload, output: Mapping[str, str], form: str, workers: int
) -> OperatorQuery:
    """Return the query of a workload whose program is a query of operators."""
    query = workload.program
    assert isinstance(query, Query)
    return OperatorQuery(
        workload=workload.name,
        query=query,
        params=workload.query_params,
        output=tuple(output.items()),
        form=form,
        workers=workers,
    )


def _clock(plan: Layout, task: OperatorQuery) -> Clock:
    return clock(plan, task.query.operators[0].window.advance)


def _build(
    frames: list[tuple[Part, DataFrame]], task: OperatorQuery, times: Clock, *, streaming: bool
) -> DataFrame:
    query_relation = relation(task.workload)
    kinds: dict[str, list[DataFrame]] = {name: [] for name in task.query.kinds}
    for part, frame in frames:
        source = F.lit(part.src).cast("short").alias("src")
        frame = frame.select("ts", source, *part.fields)
        if query_relation.delay_ms is not None:
            frame = frame.withColumn("time", F.expr(times.time("ts")))
            # One watermark per part: Spark then uses the slowest part's.
            frame = frame.withWatermark("time", f"{query_relation.delay_ms} milliseconds")
        kinds[task.query.kinds[part.kind]].append(frame)
    inputs = Inputs(
        kinds={name: reduce(DataFrame.unionAll, parts) for name, parts in kinds.items()},
        params=task.params,
        clock=times,
        form=task.form,
        tasks=TASKS_PER_WORKER * task.workers,
        streaming=streaming,
    )
    return query_relation.build(inputs)
