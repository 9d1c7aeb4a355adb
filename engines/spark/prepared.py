"""Prepares and runs a task on Spark."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from streamlab.engines.clusters import Placement
from streamlab.engines.errors import EngineCrashError, EngineError, OutOfMemoryError
from streamlab.engines.options import options_of
from streamlab.engines.protocol import Measured, Task
from streamlab.engines.spark.cluster import check_nodes, master_check, settings_of
from streamlab.engines.spark.dgs import DgsQuery
from streamlab.engines.spark.files import write_beginning
from streamlab.engines.spark.generic.query import GenericQuery
from streamlab.engines.spark.generic.segments import segments
from streamlab.engines.spark.native.query import NativeQuery
from streamlab.engines.spark.native.streaming_query import NativeStreamingQuery
from streamlab.engines.spark.operators.run import OperatorQuery
from streamlab.engines.spark.pipelines.run import PipelineQuery
from streamlab.engines.spark.query import SparkQuery, cache, check_memory
from streamlab.engines.spark.streaming.open_loop import OpenLoop
from streamlab.engines.spark.workloads import (
    BLOCKS,
    COMPILED,
    GENERIC,
    NATIVE,
    PIPELINES,
    STREAMING,
    SparkOptions,
    form_of,
)
from streamlab.engines.work_split import NoPartialsError
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.spark_session import spark_session, stop_spark
from streamlab.workloads.datasets.time_cutoff import event_times
from streamlab.workloads.model import Alphabet, Columns, Query

OPEN_COST_BYTES, LOAD_OPEN_COST_BYTES = 4 << 20, 1 << 18
"""When Spark packs files into tasks, opening a file counts as this many bytes. The first value is Spark's default.
Under a load the cost is smaller, so that small waiting files share tasks."""
DRIVER_MEMORY = "3g"
JAVA_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"

_CONF = {
    # Sums fit int64 in all engines; an overflow check on each addition would only cost time.
    "spark.sql.ansi.enabled": "false",
    # Plans are fixed and small, so adaptive execution would only add jobs.
    "spark.sql.adaptive.enabled": "false",
    # A batch has about a quarter of a megabyte. The garbage collector treats larger batches as huge objects.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16384",
    "spark.sql.streaming.numRecentProgressUpdates": "100000",
}


class SparkPrepared:
    """Holds a warm session and the input, split into files."""

    def __init__(self, task: Task) -> None:
        """Start Spark, or reuse a running session, and prepare a supported task."""
        self._task = task
        self._options = options_of(task, SparkOptions)
        self._streams = task.variant in STREAMING
        self._columns: Columns = {}
        self._tables: tuple[DataFrame, ...] = ()
        self._open_loop: OpenLoop | None = None
        self._closed = False
        self._resources = ExitStack()
        self._placement: Placement | None = None
        self._owned = SparkSession.getActiveSession() is None
        try:
            self._session = self._start()
        except DatasetError as error:
            raise EngineError(f"cannot start spark: {error}") from error
        if self._owned:
            self._resources.callback(stop_spark, self._session)
        try:
            master = self._options.master
            if master is not None:
                self._placement = check_nodes(self._session.sparkContext, task, master)
            self._open()
        except BaseException:
            self.close()
            raise

    def _start(self) -> SparkSession:
        task, options = self._task, self._options
        conf = {"spark.driver.memory": DRIVER_MEMORY, "spark.driver.maxResultSize": "0"}
        name, master = f"lab {task.workload.name}", options.master
        if master is None:
            return spark_session(name, master=f"local[{task.workers}]", conf=conf)
        return spark_session(
            name,
            master=master,
            conf=conf | settings_of(options, master, task.workers),
            python=options.python or sys.executable,
            check=master_check(options, master, task.workers),
        )

    def placement(self) -> Placement | None:
        """Return the nodes of the cluster that the task uses; None in local mode."""
        return self._placement

    def _open(self) -> None:
        """Split the input, warm up, and cache the input or start the query of an offered load."""
        task, conf = self._task, self._session.conf
        self._query = _query(task)
        total = sum(path.stat().st_size for stream in task.dataset.streams for path in stream.paths)
        for name, value in _CONF.items():
            conf.set(name, value)
        conf.set("spark.sql.shuffle.partitions", str(task.workers))
        # Two tasks per worker balance the load. A task below a megabyte is not worth its start.
        part = max(1 << 20, min(128 << 20, total // (2 * task.workers)))
        conf.set("spark.sql.files.maxPartitionBytes", str(part))
        opening = OPEN_COST_BYTES if task.load is None else LOAD_OPEN_COST_BYTES
        conf.set("spark.sql.files.openCostInBytes", str(opening))
        if task.load is None:
            files = self._options.micro_batches
            if files is None:
                files = max(1, -(-task.dataset.events // self._query.micro_batch_events))
            self._input = self._cut(task.dataset, "input", files)
        if self._options.warm_up_rounds and self._options.warm_up_events:
            self._warm_up()
        self._tables = self._cache(task.dataset)
        if not self._owned:  # A session of this object frees its tables when it stops.
            for table in self._tables:
                self._resources.callback(table.unpersist)
        if task.load is not None:
            assert isinstance(self._query, DgsQuery), "only these queries take a load"
            self._open_loop = OpenLoop(
                self._session,
                task.dataset,
                event_times(task.dataset),
                task.load,
                dgs=self._query,
                period_ns=self._options.file_ms * 1_000_000,
                folder=task.scratch / "open-loop",
            )
            self._resources.callback(self._open_loop.close)

    def _warm_up(self) -> None:
        """Run the query on a prefix of the input, so that the JVM and Python have compiled it."""
        folder = self._task.scratch / "warm-up"
        prefix = write_beginning(self._task.dataset, folder, self._options.warm_up_events)
        cut = self._cut(prefix, "warm-up-input", 1)
        tables = self._cache(prefix)
        for round_number in range(self._options.warm_up_rounds):
            self._run(prefix, cut, f"warm-up-{round_number}")
        for table in tables:
            table.unpersist(blocking=True)

    def run(self) -> Measured:
        """Run the query; all outputs are in the driver's memory when it returns."""
        if self._closed:
            raise EngineError("the spark session is closed; prepare the task again")
        if self._open_loop is None:
            return self._run(self._task.dataset, self._input, "run")
        with crash_errors(self._task.workload.name):
            measured, self._columns = self._open_loop.run()
        return measured

    def answer(self) -> Columns:
        """Return all outputs.

        Spark sorts the outputs of pipelines and of generic variants.
        Other streaming queries emit each stream's outputs in order; this method merges streams by event time.
        Other batch queries return a relation without an order; this method sorts rows by event time and stream.

        Raises:
            EngineError: Spark evicted cached tables from memory while the query ran.
        """
        if self._tables and not self._closed:
            check_memory(self._session)
        columns = self._columns
        if self._query.ordered:
            return columns
        time = columns["ts"]
        if self._streams:
            time = time.copy()
            for src in np.unique(columns["src"]):
                mask = columns["src"] == src
                time[mask] = np.maximum.accumulate(time[mask])
        order = np.lexsort((columns["src"], time))
        return {name: columns[name][order].astype(kind) for name, kind in self._query.output}

    def close(self) -> None:
        """Stop the session and its Java process, unless the session ran before the task."""
        self._closed = True
        with suppress(OSError, Py4JError):  # The JVM may have died.
            self._resources.close()

    def _cache(self, dataset: Dataset) -> tuple[DataFrame, ...]:
        return cache(self._session, dataset) if self._task.variant == "cached" else ()

    def _cut(self, dataset: Dataset, name: str, files: int) -> tuple[Path, int]:
        """Split an input into the files of micro-batches; return their folder and the number of heartbeats."""
        folder = self._task.scratch / name
        return folder, self._query.cut(dataset, folder, files) if self._streams else 0

    def _run(self, dataset: Dataset, cut: tuple[Path, int], name: str) -> Measured:
        folder, heartbeats = cut
        with crash_errors(self._task.workload.name):
            if self._streams:
                checkpoint = self._task.scratch / f"checkpoint-{name}"
                result = self._query.streaming(self._session, dataset, folder, checkpoint)
            else:
                result = self._query.batch(self._session, dataset)
        self._columns = result.columns
        plan = f"{self._task.variant}, form {self._query.form}"
        return Measured(events=result.events - heartbeats, plan=plan, counters=result.counters)


@contextmanager
def crash_errors(workload: str) -> Iterator[None]:
    """Turn Spark's and Java's errors into engine errors, with their text while Java can still return it."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = f"spark failed while it ran {workload}: {error}"
        if JAVA_OUT_OF_MEMORY in text:
            raise OutOfMemoryError(
                f"{text}; the answer must fit the driver's heap of {DRIVER_MEMORY}: use fewer events"
            ) from error
        raise EngineCrashError(text) from error


def _query(task: Task) -> SparkQuery:
    """Return the query of a task's program."""
    workload, program = task.workload, task.workload.program
    output = tuple((name, program.output[name].name) for name in program.output.names or ())
    if task.variant in GENERIC:
        alphabet = Alphabet(kinds=program.kinds, keys=task.dataset.alphabet.keys)
        split = segments(program, alphabet, task.workers)
        return GenericQuery(
            workload=workload,
            output=output,
            form=f"generic, {split.description}",
            workers=task.workers,
            split=split,
        )
    if task.variant in COMPILED:
        return _native_query(task, output)
    kind: type[SparkQuery] = DgsQuery
    if workload.name in PIPELINES:
        kind = PipelineQuery
    elif isinstance(program, Query):
        kind = OperatorQuery
    form = form_of(workload.name, task.variant)
    return kind(workload=workload, output=output, form=form, workers=task.workers)


def _native_query(task: Task, output: tuple[tuple[str, str], ...]) -> NativeQuery:
    """Return a query with partial states or aggregates, unless the program or the option `form` excludes them."""
    kind = NativeQuery if task.variant == NATIVE else NativeStreamingQuery
    query = kind(
        workload=task.workload, output=output, form="", workers=task.workers, partials=True
    )
    if task.options.get("form") == BLOCKS:
        query = replace(query, partials=False)
    try:
        split = query.check(task.dataset)
    except NoPartialsError:
        query = replace(query, partials=False)
        split = query.check(task.dataset)
    form = f"{split.form}, {split.shares} task{'s' * (split.shares > 1)}"
    return replace(query, form=form)
