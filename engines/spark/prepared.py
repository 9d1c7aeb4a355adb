"""Prepares and runs a task on Spark."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.engines.options import options_of
from streamlab.engines.protocol import Measured, Task
from streamlab.engines.spark.dgs import DgsQuery
from streamlab.engines.spark.files import prefix
from streamlab.engines.spark.generic.query import GenericQuery, describe_split
from streamlab.engines.spark.layout import Layout, layout
from streamlab.engines.spark.operators.run import OperatorQuery
from streamlab.engines.spark.pipelines.run import PipelineQuery
from streamlab.engines.spark.query import SparkQuery, cache, check_memory
from streamlab.engines.spark.streaming.open_loop import OpenLoop
from streamlab.engines.spark.workloads import GENERIC, STREAMING, SparkOptions, forms
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.session import spark_session, stop_spark
from streamlab.workloads.datasets.time_cutoff import event_times
from streamlab.workloads.model import Columns, Pipeline, Query

OPEN_COST_BYTES, LOAD_OPEN_COST_BYTES = 4 << 20, 1 << 18
"""Bytes that opening a file counts for when Spark packs files into tasks: Spark's default, and less under a load, so
that small waiting files share tasks."""
DRIVER_MEMORY = "3g"

_CONF = {
    # Sums fit int64 in all engines; an overflow check on each addition would only cost time.
    "spark.sql.ansi.enabled": "false",
    # Plans are fixed and small: adaptive execution would only add jobs.
    "spark.sql.adaptive.enabled": "false",
    # A quarter of a megabyte per batch: larger ones are huge objects to the garbage collector.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16384",
    "spark.sql.streaming.numRecentProgressUpdates": "100000",
}


def start(task: Task) -> "SparkPrepared":
    """Start Spark, or reuse a running session, and prepare a supported task."""
    owned = SparkSession.getActiveSession() is None
    try:
        session = spark_session(
            f"lab {task.workload.name}",
            master=f"local[{task.workers}]",
            conf={"spark.driver.memory": DRIVER_MEMORY, "spark.driver.maxResultSize": "0"},
        )
    except DatasetError as error:
        raise EngineError(f"cannot start spark: {error}") from error
    prepared = SparkPrepared(task, session, owned)
    try:
        prepared.warm_up()
        prepared.open()
    except BaseException:
        prepared.close()
        raise
    return prepared


class SparkPrepared:
    """Holds a warm session and the input, split into files."""

    def __init__(self, task: Task, session: SparkSession, owned: bool) -> None:
        self._task = task
        self._options = options_of(task, SparkOptions)
        self._session: SparkSession | None = session
        self._owned = owned
        self._plan = layout(task.dataset)
        self._columns: Columns = {}
        output = task.workload.program.output
        self._output = tuple((name, output[name].name) for name in output.names or ())
        self._query = _query(task, self._plan, self._output)
        total = sum(stream.path.stat().st_size for stream in self._plan.streams)
        for name, value in _CONF.items():
            session.conf.set(name, value)
        session.conf.set("spark.sql.shuffle.partitions", str(task.workers))
        # Two tasks per worker balance the load; below a megabyte a task is not worth its start.
        part = max(1 << 20, min(128 << 20, total // (2 * task.workers)))
        session.conf.set("spark.sql.files.maxPartitionBytes", str(part))
        opening = OPEN_COST_BYTES if task.load is None else LOAD_OPEN_COST_BYTES
        session.conf.set("spark.sql.files.openCostInBytes", str(opening))
        self._open_loop: OpenLoop | None = None
        self._tables: tuple[DataFrame, ...] = ()
        if task.load is None:
            files = self._options.micro_batches
            if files is None:
                files = max(1, -(-task.dataset.events // self._query.micro_batch_events))
            self._input = self._cut(self._plan, "input", files)

    def open(self) -> None:
        """Cache the input, or stage the files of an offered load and start their query."""
        self._tables = self._cache(self._plan)
        if self._task.load is None:
            return
        assert self._session is not None
        assert isinstance(self._query, DgsQuery), "no other query takes a load"
        self._open_loop = OpenLoop(
            self._session,
            self._plan,
            event_times(self._task.dataset),
            self._task.load,
            dgs=self._query,
            period_ns=self._options.file_ms * 1_000_000,
            folder=self._task.scratch / "open-loop",
        )

    def warm_up(self) -> None:
        """Run the query on a prefix of the input, so that the JVM and Python have compiled it."""
        if not self._options.warm_up_rounds or not self._options.warm_up_events:
            return
        folder = self._task.scratch / "warm-up"
        short = prefix(self._plan, folder, self._options.warm_up_events)
        cut = self._cut(short, "warm-up-input", 1)
        tables = self._cache(short)
        for turn in range(self._options.warm_up_rounds):
            self._run(short, cut, f"warm-up-{turn}")
        for table in tables:
            table.unpersist(blocking=True)

    def run(self) -> Measured:
        """Run the query; all outputs are in the driver's memory when it returns."""
        if self._task.load is None:
            return self._run(self._plan, self._input, "run")
        if self._open_loop is None:
            raise EngineError("the spark session is closed; prepare the task again")
        with _crash_errors(self._task):
            measured, self._columns = self._open_loop.run()
        return measured

    def answer(self) -> Columns:
        """Return all outputs.

        Spark sorts the outputs of pipelines and of generic variants.
        Other streaming queries emit each stream's outputs in order; here streams are merged by event time.
        Other batch queries return a relation without an order; here rows are sorted by event time, stream and
        position.

        Raises:
            EngineError: Spark evicted cached tables from memory while the query ran.
        """
        if self._tables and self._session is not None:
            check_memory(self._session)
        columns = self._columns
        if self._query.ordered:
            return columns
        time = columns["ts"]
        if self._task.variant in STREAMING:
            time = time.copy()
            for src in np.unique(columns["src"]):
                mask = columns["src"] == src
                time[mask] = np.maximum.accumulate(time[mask])
        row = (columns["row"],) if "row" in columns else ()
        order = np.lexsort((*row, columns["src"], time))
        return {name: columns[name][order].astype(kind) for name, kind in self._output}

    def close(self) -> None:
        """Stop the session and its Java process, unless they ran before."""
        open_loop, self._open_loop = self._open_loop, None
        if open_loop is not None:
            with suppress(OSError, Py4JError):
                open_loop.close()
        session, self._session = self._session, None
        tables, self._tables = self._tables, ()
        if not self._owned:  # An owned session frees its tables when it stops.
            with suppress(OSError, Py4JError):
                for table in tables:
                    table.unpersist()
        if session is not None and self._owned:
            with suppress(OSError, Py4JError):  # The JVM may have died.
                stop_spark(session)

    def _cache(self, plan: Layout) -> tuple[DataFrame, ...]:
        if self._task.variant != "cached":
            return ()
        assert self._session is not None
        return cache(self._session, plan)

    def _cut(self, plan: Layout, folder: str, files: int) -> tuple[Any, Path]:
        path = self._task.scratch / folder
        return self._query.cut(plan, path, files) if self._streams else None, path

    @property
    def _streams(self) -> bool:
        return self._task.variant in STREAMING

    def _run(self, plan: Layout, cut: tuple[Any, Path], name: str) -> Measured:
        if self._session is None:
            raise EngineError("the spark session is closed; prepare the task again")
        with _crash_errors(self._task):
            if self._streams:
                checkpoint = self._task.scratch / f"checkpoint-{name}"
                ran = self._query.streaming(self._session, *cut, checkpoint)
            else:
                ran = self._query.batch(self._session, plan)
        self._columns = ran.columns
        plan_in_words = f"{self._task.variant}, form {ran.form}"
        return Measured(events=ran.events, plan=plan_in_words, counters=ran.counters)


@contextmanager
def _crash_errors(task: Task) -> Iterator[None]:
    """Turn Spark's errors into those of engines."""
    try:
        yield
    except PySparkException as error:
        raise EngineCrashError(
            f"spark failed while it ran {task.workload.name}: {error}"
        ) from error


def _query(task: Task, plan: Layout, output: tuple[tuple[str, str], ...]) -> SparkQuery:
    """Return the query of a task's program."""
    workload, program = task.workload, task.workload.program
    kind: type[SparkQuery]
    form = str(task.options.get("form", forms(workload.name, task.variant)[0]))
    if task.variant in GENERIC:
        kind = GenericQuery
        form = f"generic, {describe_split(workload, plan, task.workers)}"
    elif isinstance(program, Query):
        kind = OperatorQuery
    elif isinstance(program, Pipeline):
        kind = PipelineQuery
    else:
        kind = DgsQuery
    return kind(workload=workload, output=output, form=form, workers=task.workers)
