"""Runs the relation of a query of operators, in batch or in micro-batches."""

from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.files import (
    bounds,
    cuts_at,
    equal_cuts,
    heartbeat,
    nullable,
    read_rows,
    write_files,
)
from streamlab.engines.spark.layout import Layout
from streamlab.engines.spark.operators import joins, tweets
from streamlab.engines.spark.operators.clock import Clock, clock
from streamlab.engines.spark.operators.relation import Inputs, Relation
from streamlab.engines.spark.query import (
    QueryResult,
    SparkQuery,
    arrow_schema,
    columns_of,
    reader,
    run_to_end,
    scan,
)
from streamlab.workloads.model import Query

RELATIONS = {**joins.RELATIONS, **tweets.RELATIONS}
TASKS_PER_WORKER = 4
"""Tasks per worker of a batch join: buckets differ in size, and several tasks balance them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The tuples of one kind in one stream; `fields` are its columns other than `ts`."""

    src: int
    kind: int
    fields: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The folder of its files."""
        return f"stream-{self.src}-kind-{self.kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorQuery(SparkQuery):
    """A query of operators to run."""

    ordered: ClassVar[bool] = False

    @property
    def program(self) -> Query:
        """The workload's program."""
        assert isinstance(self.workload.program, Query)
        return self.workload.program

    @property
    def schema(self) -> pa.Schema:
        """Schema of the sink."""
        return arrow_schema((*self.output, ("src", "int16")))

    @property
    def relation(self) -> Relation:
        """The query as a relation."""
        return RELATIONS[self.workload.name]

    def batch(self, session: SparkSession, plan: Layout) -> QueryResult:
        """Return the output of the whole input, unordered."""
        frames = []
        for part in self._parts(plan):
            frame = scan(session, plan, part.src)
            if "tag" in frame.columns:
                frame = frame.where(F.expr(f"tag % {plan.n_kinds} = {part.kind}"))
            frames.append((part, frame))
        output = self._build(frames, self._clock(plan), streaming=False)
        table = output.toArrow().cast(self.schema)
        return QueryResult(columns=columns_of(table), events=plan.events, form=self.form)

    def cut(self, plan: Layout, folder: Path, files: int) -> tuple[tuple[Part, ...], Clock]:
        """Split an input into the files of micro-batches; return its parts and its clock."""
        times = self._clock(plan)
        return self.split(plan, folder, files, closing=times.end), times

    def streaming(
        self,
        session: SparkSession,
        files: tuple[tuple[Part, ...], Clock],
        folder: Path,
        checkpoint: Path,
    ) -> QueryResult:
        """Run the query until all files are processed.

        The output of a micro-batch is a relation without an order: the sink sorts it by time.
        """
        parts, times = files
        frames = [
            (part, reader(session, part.columns).parquet(str(folder / part.name))) for part in parts
        ]
        return run_to_end(
            self._build(frames, times, streaming=True),
            checkpoint,
            self.schema,
            lambda frame: frame.toArrow().sort_by("ts"),
            form=self.form,
            heartbeats=len(parts) if self.relation.closes else 0,
        )

    def split(self, plan: Layout, folder: Path, files: int, *, closing: int) -> tuple[Part, ...]:
        """Write every part as `files` files, in order, into its folder, and return the parts.

        Where outputs wait for the watermark, a heartbeat at event time `closing` follows the last row of each part.
        """
        times = bounds(plan, files) if self.relation.aligned else None
        parts = self._parts(plan)
        for part in parts:
            table = _tuples(plan, part)
            cuts = equal_cuts(len(table), files) if times is None else cuts_at(table, times)
            last = heartbeat(table, ts=closing) if self.relation.closes else None
            write_files(table, folder / part.name, cuts, last)
        return parts

    def _parts(self, plan: Layout) -> tuple[Part, ...]:
        """Return the parts of an input, by stream, then kind."""
        parts = []
        for src, stream in enumerate(plan.streams):
            types = dict(stream.columns)
            for kind in stream.kinds:
                tuples = self.program.operators[0].inputs[kind]
                fields = (*(tuples.fields.names or ()), *(name for name, _ in tuples.lists))
                columns = tuple((name, types[name]) for name in ("ts", *fields))
                parts.append(Part(src=src, kind=kind, fields=fields, columns=columns))
        return tuple(parts)

    def _clock(self, plan: Layout) -> Clock:
        return clock(plan, self.program.operators[0].window.advance)

    def _build(
        self, frames: list[tuple[Part, DataFrame]], times: Clock, *, streaming: bool
    ) -> DataFrame:
        kinds: dict[str, list[DataFrame]] = {name: [] for name in self.program.kinds}
        for part, frame in frames:
            source = F.lit(part.src).cast("short").alias("src")
            frame = frame.select("ts", source, *part.fields)
            if self.relation.delay_ms is not None:
                frame = frame.withColumn("time", F.expr(times.time("ts")))
                # One watermark per part: Spark then uses the slowest part's.
                frame = frame.withWatermark("time", f"{self.relation.delay_ms} milliseconds")
            kinds[self.program.kinds[part.kind]].append(frame)
        inputs = Inputs(
            kinds={name: reduce(DataFrame.unionAll, parts) for name, parts in kinds.items()},
            params=self.workload.query_params,
            clock=times,
            form=self.form,
            tasks=TASKS_PER_WORKER * self.workers,
            streaming=streaming,
        )
        return self.relation.build(inputs)


def _tuples(plan: Layout, part: Part) -> pa.Table:
    table = read_rows(plan.streams[part.src])
    if "tag" in table.column_names:
        table = table.take(np.flatnonzero(table["tag"].to_numpy() % plan.n_kinds == part.kind))
    # Heartbeats have nulls.
    return nullable(table.select([name for name, _ in part.columns]))
