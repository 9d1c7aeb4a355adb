"""Runs the relation of a query: on whole files, or on files that arrive in micro-batches."""

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
from streamlab.engines.spark.streaming.query import Ran, run_to_end
from streamlab.workloads.model import Columns, Params, Query, Workload

TASKS_PER_WORKER = 4
"""Of a join's table: buckets differ in size, and several even out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """An input in files that arrive one after the other, by part."""

    parts: tuple[Part, ...]
    clock: Clock
    heartbeats: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorQuery:
    """What is to be run.

    Attributes:
        workload: its name.
        query: its program.
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
        """What a sink takes."""
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
        table = _related(frames, self, times, streaming=False).toArrow().cast(self.schema)
        return {name: table[name].to_numpy() for name in self.schema.names}

    def cut(self, plan: Layout, folder: Path, files: int) -> Files:
        """Cut an input into the files of micro-batches."""
        found, times = relation(self.workload), _clock(plan, self)
        return Files(
            parts=split(
                plan,
                self.query,
                folder,
                files,
                aligned=found.aligned,
                closing=times.end if found.closes else None,
            ),
            clock=times,
            heartbeats=len(parts(plan, self.query)) if found.closes else 0,
        )

    def streaming(self, session: SparkSession, files: Files, folder: Path, checkpoint: Path) -> Ran:
        """Run the query until all files are processed; `rows` are events, without heartbeats.

        Each micro-batch takes one file of every part. Its output is a relation, without an order:
        the sink hands it to the driver and sorts it by time.
        """
        frames = []
        for part in files.parts:
            reader = session.readStream.schema(ddl(part.columns)).option("maxFilesPerTrigger", 1)
            frames.append((part, reader.parquet(str(folder / part.name))))
        ran = run_to_end(
            _related(frames, self, files.clock, streaming=True),
            checkpoint,
            self.schema,
            lambda frame: frame.toArrow().sort_by("ts"),
        )
        return replace(ran, rows=ran.rows - files.heartbeats)


def operator_query(
    workload: Workload, output: Mapping[str, str], form: str, workers: int
) -> OperatorQuery:
    """Return what is asked for by a workload whose program is a query of operators."""
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


def _clock(plan: Layout, what: OperatorQuery) -> Clock:
    return clock(plan, what.query.operators[0].window.advance)


def _related(
    frames: list[tuple[Part, DataFrame]], what: OperatorQuery, times: Clock, *, streaming: bool
) -> DataFrame:
    found = relation(what.workload)
    kinds: dict[str, list[DataFrame]] = {name: [] for name in what.query.kinds}
    for part, frame in frames:
        source = F.lit(part.src).cast("short").alias("src")
        frame = frame.select("ts", source, *part.fields)
        if found.delay_ms is not None:
            frame = frame.withColumn("time", F.expr(times.time("ts")))
            # Of each part by itself: Spark then goes by the one that is furthest behind.
            frame = frame.withWatermark("time", f"{found.delay_ms} milliseconds")
        kinds[what.query.kinds[part.kind]].append(frame)
    inputs = Inputs(
        kinds={name: reduce(DataFrame.unionAll, parts) for name, parts in kinds.items()},
        params=what.params,
        clock=times,
        form=what.form,
        tasks=TASKS_PER_WORKER * what.workers,
        streaming=streaming,
    )
    return found.build(inputs)
