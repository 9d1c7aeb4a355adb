"""Adapts Flink to the engine protocol: one job on a cluster in a Java process of the trial."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import ClassVar

import numpy as np

from streamlab.engines import environment, event_files
from streamlab.engines.base import BaseEngine
from streamlab.engines.broker import broker
from streamlab.engines.broker.generator import LoadGenerator
from streamlab.engines.broker.records import topic_settings, topics_of
from streamlab.engines.broker.topics import write_topics
from streamlab.engines.clusters import ClusterPlan, ClusterState, Daemon, Placement
from streamlab.engines.conditions import MEMORY, RECORD, Conditions
from streamlab.engines.declared_queries import GENERATED, generated_plan, generated_variant
from streamlab.engines.flink import cluster, files, session
from streamlab.engines.flink.build import ENVIRONMENT, compile_broker_programs
from streamlab.engines.flink.generated import generate, slow_parts
from streamlab.engines.flink.process import FlinkProcess, measure_ceiling, network_mb
from streamlab.engines.flink.translatable import refuse, refuse_times
from streamlab.engines.flink.workloads import (
    SHAPES,
    SQL,
    SQL_QUERIES,
    AutomaticOptions,
    ManualOptions,
    SequentialOptions,
    flink_options,
    properties,
    written_query,
)
from streamlab.engines.protocol import Measured, Property, Task, Variant
from streamlab.workloads.declarative.declaration import Declaration
from streamlab.workloads.model import Columns, DGSProgram, Input, Pipeline, Query, Workload

ROW_BYTES = 48
"""Memory per row of an answer in Java."""

STATE_BYTES = 256
"""Memory per event that a hand-written query stores: a join of all rows so far has some 250 bytes in its hash maps."""

WINDOW_STATE_BYTES = 512
"""Memory per output row of windows by key: an open window's entry and timer, doubled for the garbage collector.

With less than half of this memory, paircount with 2.1 million rows ran at 0.88 of its usual rate.
"""

CLIENT_HEAP_MB = 512
"""Heap of the trial's own Java process if the job runs on a cluster."""

MAX_LEAVES = 1_000_000
"""Maximum number of leaves in all trees of variant `manual`; their semaphores take about 150 MB."""

_CONDITIONS = Conditions(unit=RECORD, origin=MEMORY)
_AUTOMATIC = Variant(
    name="automatic",
    summary="DataStream programs that only Flink parallelizes",
    label="Flink",
    takes_load=True,
    source="memory source",
    models=(DGSProgram, Query),
    conditions=_CONDITIONS,
    options=AutomaticOptions,
)


class FlinkEngine(BaseEngine):
    """Runs Flink SQL, generated operators or hand-written DataStream programs, in one JVM or on a cluster."""

    name: ClassVar[str] = "flink"
    known_variants = (
        _AUTOMATIC,
        replace(
            _AUTOMATIC,
            name="manual",
            summary="hand-written synchronization plans, with a service outside Flink",
            label="Flink, hand-written plan",
            models=(DGSProgram,),
            lacking={
                "keyed_counter": "its keys are independent, so it needs no plan; use variant "
                "automatic"
            },
            options=ManualOptions,
        ),
        replace(
            _AUTOMATIC,
            name="sequential",
            summary="one task takes all events in order; the base of the speed-ups in the DGS paper",
            label="Flink, sequential",
            models=(DGSProgram,),
            lacking={"keyed_counter": "its keys are independent; use variant automatic"},
            sequential=True,
            options=SequentialOptions,
        ),
        Variant(
            name=SQL,
            summary="queries written in Flink SQL, in streaming mode",
            label="Flink SQL",
            conditions=_CONDITIONS,
            options=AutomaticOptions,
            models=(Query, Pipeline),
            written_for=frozenset(SQL_QUERIES),
        ),
        replace(
            generated_variant("SQL", label="Flink"),
            summary="Flink SQL generated from a declared workload (lab.window, lab.join, ...); streaming mode",
            conditions=_CONDITIONS,
            options=AutomaticOptions,
            generates=refuse,
        ),
    )
    queries = SHAPES
    max_workers = None
    packages = ("apache-flink-libraries",)
    environment = ENVIRONMENT
    cluster_option = "jobmanager"

    def refused(self, task: Task) -> str | None:
        """Refuse options without effect, loads that the variant cannot take, unusable inputs, and too many trees."""
        options = flink_options(task)
        if options.broker:
            reason = _broker_refusal(task, options)
            if reason is not None:
                return reason
        if task.load is not None and task.variant == GENERATED:
            return "flink takes no offered load for generated queries: see docs/engines/flink.md"
        if task.load is not None and options.jobmanager is not None:
            return (
                "flink takes no load on a cluster: its machines have no common clock for due times; "
                "run it at full speed, or without option jobmanager"
            )
        if task.variant == GENERATED:
            return refuse_times(task)
        if task.variant == SQL:
            return None
        shape = SHAPES[task.workload.name]
        if options.state == "rocksdb" and not shape.keyed_state:
            return (
                f"flink runs {task.workload.name} in one task that stores its state in fields, so "
                "state = rocksdb would change nothing; remove the option"
            )
        if options.map_instances and not (task.variant == "automatic" and shape.windows):
            return (
                f"flink has no map stage in {task.workload.name}, so map_instances would change "
                "nothing; remove the option"
            )
        keys = task.dataset.alphabet.keys
        if task.variant == "manual" and keys * task.workers > MAX_LEAVES:
            return (
                f"manual has a leaf for each of {keys} keys and {task.workers} workers, and "
                f"supports at most {MAX_LEAVES} leaves; use fewer keys, or variant automatic"
            )
        return None

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return the platform-independence properties."""
        return properties(workload, variant)

    def query_text(self, workload: Workload, variant: str) -> str | None:
        """Return the SQL of a workload, written or generated."""
        if variant == SQL:
            return written_query(workload)
        return generate(workload.declaration) if variant == GENERATED else None

    def generated_plan(self, declaration: Declaration) -> str:
        """Return a note that the query is generated, and which parts are slow for that reason."""
        return generated_plan(declaration, slow_parts)

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Measure the source, which all variants share; `batch` has no effect."""
        return measure_ceiling()

    def start(self, task: Task) -> "FlinkPrepared":
        """Start Java, load the input, warm up on a prefix, and deploy the timed job."""
        data = task.dataset.load()
        answer_bytes = ROW_BYTES * (task.expected_outputs or task.dataset.events)
        state_bytes = _state_bytes(task)
        needed_mb = (2 * (files.input_bytes(data) + answer_bytes) + state_bytes) >> 20
        options = flink_options(task)
        slots = max(task.workers, options.map_instances)
        if options.jobmanager is not None:
            cluster.check(options.jobmanager, slots)
            cluster.write_jar(task.scratch / "streamlab.jar")
        rows = files.warm_up_rows(data, options.warm_up_events)
        settings: dict[str, object] = {
            **asdict(options),
            "network_mb": network_mb(slots),
            "slots": slots,
            **{f"warm_up_rows.{index}": count for index, count in enumerate(rows)},
        }
        on_cluster = options.jobmanager is not None
        heap_mb = CLIENT_HEAP_MB if on_cluster else options.heap_mb or 1024 + needed_mb
        with ExitStack() as opened:
            generator = None
            extra_class_path = ""
            if options.broker:
                if task.load is None:
                    topics = write_topics(options.broker, task.dataset, data)
                else:
                    generator = LoadGenerator(
                        options.broker,
                        topics_of(task.dataset),
                        data.streams,
                        task.load,
                        task.scratch,
                        task.topics,
                    )
                    opened.callback(generator.close)
                    topics = generator.topics
                    settings["warm_up_rounds"] = 0  # The topics are empty before the load.
                values = SHAPES[task.workload.name].values
                settings |= topic_settings(options.broker, topics, data, values, task.load)
                extra_class_path = compile_broker_programs(task.scratch / "broker-classes")
            files.write_task(task, data, settings, task.scratch)
            query = self.query_text(task.workload, task.variant)
            if query is not None:
                (task.scratch / "query.sql").write_text(query, encoding="utf-8")
            process = FlinkProcess(
                task.scratch, heap_mb=heap_mb, workers=slots, extra_class_path=extra_class_path
            )
            opened.callback(process.close)
            job = process.ready()
            placement = None
            if options.jobmanager is not None:
                placement = cluster.placement(options.jobmanager, job)
            opened.pop_all()
        return FlinkPrepared(task, data, process, placement, generator)

    def cluster_daemons(self, plan: ClusterPlan) -> tuple[Daemon, ...]:
        """Return the job manager and the task managers of a session cluster."""
        return session.daemons(plan)

    def cluster_address(self, plan: ClusterPlan) -> str:
        """Return the job manager's address."""
        return session.address(plan)

    def cluster_state(self, plan: ClusterPlan) -> ClusterState | None:
        """Return the state of a session cluster."""
        return session.state(plan)


def _state_bytes(task: Task) -> int:
    """Return an upper bound of the heap, in bytes, that a task's state takes."""
    if task.variant == SQL:
        return STATE_BYTES * task.dataset.events
    shape = SHAPES.get(task.workload.name)
    if shape is None or not shape.windows:
        return 0
    return WINDOW_STATE_BYTES * (task.expected_outputs or task.dataset.events)


def _broker_refusal(task: Task, options: AutomaticOptions) -> str | None:
    """Return why a task's input cannot come from a broker, or None."""
    shape = SHAPES.get(task.workload.name)
    if shape is None or shape.items is not None or shape.key is not None:
        return f"flink reads {task.workload.name} only from memory; remove the option broker"
    if options.jobmanager is not None or options.checkpoint_ms:
        return (
            "flink reads from a broker in the trial's process, without checkpoints; remove options "
            "jobmanager and checkpoint_ms, or option broker"
        )
    return environment.unusable_reason(broker.NAME, broker.ENVIRONMENT)


class FlinkPrepared:
    """Controls a deployed job that waits for the clock."""

    def __init__(
        self,
        task: Task,
        data: Input,
        process: FlinkProcess,
        placement: Placement | None,
        generator: LoadGenerator | None,
    ) -> None:
        self._task = task
        self._data = data
        self._process = process
        self._folder = task.scratch
        self._placement = placement
        self._generator = generator
        self._rows: event_files.Rows | None = None

    def placement(self) -> Placement | None:
        """Return the nodes of the cluster that run the job; None in the trial's own process."""
        return self._placement

    def run(self) -> Measured:
        """Start the sources and wait until the sinks have all rows."""
        start_ns, sent = 0, None
        if self._generator is None:
            took_ns, events = self._process.ask("go")
        else:
            start_ns, (took_ns, events), sent = self._generator.drive(self._process)
        task, plan = self._task, self._plan()
        if task.variant == GENERATED:
            plan += f"; {generated_plan(task.workload.declaration, slow_parts)}"
        counters = {"in_java_ns": float(took_ns)}
        if self._task.load is None:
            return Measured(events=events, plan=plan, counters=counters)
        rows = self._read()
        by_time = np.full(len(rows), SHAPES[task.workload.name].windows)
        if sent is not None:  # Java's clock does not count from the start of the load.
            event_files.count_from(start_ns, rows, self._folder, len(self._data.streams))
        measured = event_files.measure_load(task, self._data, rows, by_time, plan, counters)
        return measured if sent is None else replace(measured, sent=sent)

    def answer(self) -> Columns:
        """Return all rows, merged over sinks by the events that made them."""
        if self._task.variant in (GENERATED, SQL):
            (parts,) = self._process.ask("answer")
            return files.query_answer(self._task, self._data, self._folder, parts)
        shape = SHAPES[self._task.workload.name]
        return event_files.answer(self._task, shape, self._read())

    def close(self) -> None:
        """End the Java process and the load."""
        self._process.close()
        if self._generator is not None:
            self._generator.close()

    def _read(self) -> event_files.Rows:
        if self._rows is None:
            (parts,) = self._process.ask("answer")
            timed = self._task.load is not None
            self._rows = event_files.read_rows(self._folder, parts, timed=timed)
        return self._rows

    def _plan(self) -> str:
        task, options = self._task, flink_options(self._task)
        setting = f"state {options.state}"
        if options.map_instances:
            setting += f", {options.map_instances} map instances"
        if isinstance(options, ManualOptions):
            setting = f"service {options.service}"
        if options.checkpoint_ms:
            setting += f", checkpoints every {options.checkpoint_ms} ms"
        return (
            f"{task.variant}, parallelism {task.workers}, {setting}, buffers flushed after "
            f"{options.buffer_timeout_ms} ms, Java {self._process.java}"
        )
