"""Adapts Spark to the engine protocol: Structured Streaming, and batch queries."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from streamlab.engines.errors import EngineCrashError, EngineError, UnsupportedError
from streamlab.engines.protocol import Measured, OfferedLoad, Property, Sent, Task, Variant
from streamlab.engines.spark.conditions import (
    BATCH,
    CACHED,
    GENERIC_BATCH,
    GENERIC_STREAMING,
    streaming,
)
from streamlab.engines.spark.layout import Layout, layout
from streamlab.engines.spark.pipelines.registry import LACKING
from streamlab.engines.spark.properties import properties
from streamlab.engines.spark.refusal import (
    FORMS,
    GENERIC,
    OPTIONS,
    STREAMING,
    WORKLOADS,
    forms,
    refusal,
    wrong_options,
)
from streamlab.workloads.model import Columns, DGSProgram, Pipeline, Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from streamlab.engines.spark.relations import Relations
    from streamlab.engines.spark.streaming.open_loop import OpenLoop

__all__ = ["FORMS", "OPTIONS", "SparkEngine", "SparkPrepared"]

FILE_MS = 250
"""About the duration of a stateful micro-batch; with shorter files, answers would not come sooner."""
MICRO_BATCH_EVENTS = 8_000_000
"""Large (some 200 MB), because a stateful micro-batch costs at least 0.25-0.35 s."""
MICRO_BATCH_TUPLES = 1_000_000
"""The limit for queries of operators, whose joins copy many times the input into their state."""
OPEN_COST_BYTES, LOAD_OPEN_COST_BYTES = 4 << 20, 1 << 18
"""Bytes that opening a file counts for when Spark packs files into tasks: Spark's default, and less under a load, so
that small waiting files share tasks."""
WARM_UP_EVENTS = 1_000_000
WARM_UP_ROUNDS = 3
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


_SPARK = Variant(name="", summary="", baseline=2, colour=1)
_WRITTEN = replace(
    _SPARK,
    models=(DGSProgram, Query, Pipeline),
    lacking=LACKING,
    written_for=frozenset(WORKLOADS),
)


class SparkEngine:
    """Runs programs of all models on Spark in local mode."""

    name: ClassVar[str] = "spark"

    def version(self) -> str:
        """Return the version of PySpark."""
        return version("pyspark")

    def variants(self) -> tuple[Variant, ...]:
        """Return the variants; none uses `Task.batch`.

        The first three run hand-written queries. The generic ones run any program, and are the default for workloads
        without a query.
        """
        return (
            replace(
                _WRITTEN,
                name="streaming",
                summary="Structured Streaming in micro-batches",
                takes_load=True,
                conditions=streaming,
            ),
            replace(
                _WRITTEN, name="batch", summary="Spark SQL over the whole input", conditions=BATCH
            ),
            replace(
                _WRITTEN,
                name="cached",
                summary="the batch queries over tables cached in Spark before the clock starts",
                conditions=CACHED,
            ),
            replace(
                _SPARK,
                name="generic-streaming",
                summary="the functions of any program, in stateful operators in Python",
                conditions=GENERIC_STREAMING,
            ),
            replace(
                _SPARK,
                name="generic-batch",
                summary="the functions of any program, in groups over the whole input",
                conditions=GENERIC_BATCH,
            ),
        )

    def wrong_options(self, variant: str, options: Mapping[str, object]) -> str | None:
        """Return what is wrong with options on any task, or None."""
        return wrong_options(options)

    def unsupported(self, task: Task) -> str | None:
        """Return why a task cannot be run, or None."""
        return refusal(task)

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return the platform-independence properties."""
        return properties(workload, variant)

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Measure how many events/s the process that drops files can hand over, in small files.

        A drop costs the same for larger files, so this is a lower bound; `batch` has no effect.
        """
        if variant != "streaming":  # The only variant that takes a load.
            return None
        from streamlab.engines.spark.streaming.ceiling import measure_ceiling

        return measure_ceiling()

    def prepare(self, task: Task) -> "SparkPrepared":
        """Start Spark, split the streams into the files of micro-batches, and warm up on a prefix.

        A running session is reused, whatever its master, and left running.
        """
        reason = self.unsupported(task)
        if reason:
            raise UnsupportedError(reason)
        from pyspark.sql import SparkSession

        from streamlab.workloads.datasets.errors import DatasetError
        from streamlab.workloads.datasets.session import spark_session

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

    def __init__(self, task: Task, session: "SparkSession", owned: bool) -> None:
        self._task = task
        self._session: SparkSession | None = session
        self._owned = owned
        self._streams = task.variant in STREAMING
        self._form = str(task.options.get("form", forms(task.workload.name, task.variant)[0]))
        self._plan = layout(task.dataset)
        self._columns: Columns = {}
        output = task.workload.program.output
        self._output = {name: output[name].name for name in output.names or ()}
        self._relation = self._relations()
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
            most = MICRO_BATCH_EVENTS if self._relation is None else MICRO_BATCH_TUPLES
            files = self._number("micro_batches", -(-task.dataset.events // most))
            self._input = self._cut(self._plan, "input", max(1, files))

    def open(self) -> None:
        """Cache the input, or stage the files of an offered load and start their query."""
        load, task = self._task.load, self._task
        self._tables = self._cache(self._plan)
        if load is None:
            return
        from streamlab.engines.spark.streaming.open_loop import OpenLoop
        from streamlab.workloads.datasets.time_cutoff import event_times

        assert self._session is not None
        self._ts = event_times(task.dataset)
        self._open_loop = OpenLoop(
            self._session,
            self._plan,
            self._ts,
            load,
            workload=task.workload.name,
            output=self._output,
            period_ns=self._number("file_ms", FILE_MS) * 1_000_000,
            most_events=MICRO_BATCH_EVENTS,
            folder=task.scratch / "open-loop",
        )

    def warm_up(self) -> None:
        """Run the query on a prefix of the input, so that the JVM and Python have compiled it."""
        from streamlab.engines.spark.warm_up import prefix

        rounds = self._number("warm_up_rounds", WARM_UP_ROUNDS)
        events = self._number("warm_up_events", WARM_UP_EVENTS)
        if not rounds or not events:
            return
        short = prefix(self._plan, self._task.scratch / "warm-up", events)
        cut = self._cut(short, "warm-up-input", 1)
        tables = self._cache(short)
        for turn in range(rounds):
            self._query(short, cut, f"warm-up-{turn}")
        for table in tables:
            table.unpersist(blocking=True)

    def run(self) -> Measured:
        """Run the query; all outputs are in the driver's memory when it returns."""
        if self._task.load is not None:
            return self._run_open_loop(self._task.load)
        return self._query(self._plan, self._input, "run")

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
            from streamlab.engines.spark.batch.input_cache import check_memory

            check_memory(self._session)
        columns = self._columns
        if isinstance(self._task.workload.program, Pipeline) or self._task.variant in GENERIC:
            return columns
        time = columns["ts"]
        if self._task.variant == "streaming":
            time = time.copy()
            for src in np.unique(columns["src"]):
                mask = columns["src"] == src
                time[mask] = np.maximum.accumulate(time[mask])
        row = (columns["row"],) if "row" in columns else ()
        order = np.lexsort((*row, columns["src"], time))
        return {name: columns[name][order].astype(kind) for name, kind in self._output.items()}

    def close(self) -> None:
        """Stop the session and its Java process, unless they ran before."""
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types

        from streamlab.workloads.datasets.session import stop_spark

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

    def _number(self, option: str, default: int) -> int:
        value = self._task.options.get(option, default)
        assert isinstance(value, int)
        return value

    def _relations(self) -> "Relations | None":
        """Return the query of a generic variant, a query or a pipeline; None for a DGS program."""
        task, program = self._task, self._task.workload.program
        if task.variant in GENERIC:
            from streamlab.engines.spark.generic.query import GenericQuery

            query = GenericQuery(workload=task.workload, workers=task.workers)
            self._form = f"generic, {query.description(self._plan)}"
            return query
        if isinstance(program, Query):
            from streamlab.engines.spark.operators.run import operator_query

            return operator_query(task.workload, self._output, self._form, task.workers)
        if isinstance(program, Pipeline):
            from streamlab.engines.spark.pipelines.run import pipelines

            return pipelines(task.workload, self._output, task.workers)
        return None

    def _cache(self, plan: Layout) -> "tuple[DataFrame, ...]":
        if self._task.variant != "cached":
            return ()
        from streamlab.engines.spark.batch.input_cache import cache

        assert self._session is not None
        return cache(self._session, plan)

    def _cut(self, plan: Layout, folder: str, files: int) -> tuple[Any, Path]:
        path = self._task.scratch / folder
        if not self._streams:
            return None, path
        if self._relation is not None:
            return self._relation.cut(plan, path, files), path
        from streamlab.engines.spark.streaming.query import describe
        from streamlab.engines.spark.streaming.stream_files import split

        columns = split(plan, path, files)
        return describe(plan, self._task.workload.name, columns, self._output), path

    def _run_open_loop(self, load: OfferedLoad) -> Measured:
        from pyspark.errors import PySparkException

        from streamlab.engines.spark.streaming.latencies import send_lag, stamp_outputs

        if self._open_loop is None:
            raise EngineError("the spark session is closed; prepare the task again")
        name = self._task.workload.name
        try:
            arrived = self._open_loop.run()
        except PySparkException as error:
            raise EngineCrashError(f"spark failed while it ran {name}: {error}") from error
        self._columns = arrived.columns
        drops, dropped = self._open_loop.drops, arrived.dropped_ns
        times = stamp_outputs(arrived.batches, self._ts, load, drops, dropped)
        processed = arrived.batches[-1].processed if arrived.batches else {}
        return Measured(
            events=sum(processed.values()),
            latency=times.latency,
            warm_up_latency=times.warm_up_latency,
            service_latency=times.service_latency,
            progress=times.progress,
            sent=Sent(
                events=int(drops.events.sum()), lag=send_lag(drops, dropped), own_thread=True
            ),
            plan="streaming, form packed, open loop",
            counters={
                "micro_batches": float(len(arrived.batches)),
                "drops": float(len(drops)),
                "real_time_dropper": float(arrived.real_time),
            },
        )

    def _query(self, plan: Layout, cut: tuple[Any, Path], name: str) -> Measured:
        from pyspark.errors import PySparkException

        if self._session is None:
            raise EngineError("the spark session is closed; prepare the task again")
        workload = self._task.workload.name
        try:
            if self._relation is not None:
                columns, events, counters = self._run_relation(self._relation, plan, cut, name)
                self._columns, form = columns, self._form
            elif not self._streams:
                from streamlab.engines.spark.batch import query as batch

                self._columns, form = batch.run(self._session, plan, workload, self._form)
                events, counters = sum(stream.rows for stream in plan.streams), {}
            else:
                from streamlab.engines.spark.streaming import query as streaming

                checkpoint = self._task.scratch / f"checkpoint-{name}"
                query, files = cut
                ran = streaming.run(self._session, query, files, checkpoint)
                self._columns, form = ran.columns, self._form
                # Every stream ends with one heartbeat, which is not an event.
                events = ran.rows - len(plan.streams)
                counters = {"micro_batches": float(ran.micro_batches)}
        except PySparkException as error:
            raise EngineCrashError(f"spark failed while it ran {workload}: {error}") from error
        return Measured(events=events, plan=f"{self._task.variant}, form {form}", counters=counters)

    def _run_relation(
        self, relation: "Relations", plan: Layout, cut: tuple[Any, Path], name: str
    ) -> tuple[Columns, int, dict[str, float]]:
        assert self._session is not None
        if not self._streams:
            rows = sum(stream.rows for stream in plan.streams)
            return relation.batch(self._session, plan), rows, {}
        checkpoint = self._task.scratch / f"checkpoint-{name}"
        ran = relation.streaming(self._session, *cut, checkpoint)
        counters = {"micro_batches": ran.micro_batches, "state_rows_peak": ran.state_rows_peak}
        return ran.columns, ran.rows, {name: float(value) for name, value in counters.items()}
