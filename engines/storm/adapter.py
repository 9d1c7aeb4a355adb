"""Adapts Storm to the engine protocol: one topology on a local cluster in a Java process of the trial."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from streamlab.engines import environment
from streamlab.engines.base import BaseEngine
from streamlab.engines.command_process import JavaProcess
from streamlab.engines.conditions import MEMORY, RECORD, Conditions
from streamlab.engines.errors import UnsupportedError
from streamlab.engines.options import options_of
from streamlab.engines.protocol import Histogram, Measured, Task, Variant
from streamlab.engines.recording import histogram_of
from streamlab.engines.storm import files, topologies
from streamlab.engines.storm.build import ENVIRONMENT, HERE, MAIN, class_path, storm_version
from streamlab.engines.storm.files import LayersOptions, TopologyOptions
from streamlab.engines.storm.progress import read_progress
from streamlab.workloads.model import Columns, Dataflow, Input, Pipeline

LONGEST = 1 << 61
"""Maximum ms between the first and the last event. The run's times follow those of the warm-up, and all must fit a
long."""
LATENCY_AT_FULL_SPEED = (
    "from when an injector emitted the record until it was at its sink; at full speed, so it is the "
    "time spent in queues"
)
_CONDITIONS = Conditions(unit=RECORD, origin=MEMORY)
_TYPED = Variant(
    name="typed",
    summary="a topology compiled from a typed graph: bolts merge by markers, hash and sort",
    label="Storm, typed",
    models=(Dataflow,),
    written_for=topologies.WORKLOADS,
    conditions=_CONDITIONS,
    options=TopologyOptions,
)


class StormEngine(BaseEngine):
    """Runs a topology for each supported workload."""

    name: ClassVar[str] = "storm"
    known_variants = (
        Variant(
            name="layers",
            summary="a topology ordered by channels (ScaleGate) or by merge-sorting bolts",
            label="Storm",
            models=(Pipeline,),
            written_for=frozenset({"linear_road_pos_rep", "linear_road_new_seg"}),
            conditions=_CONDITIONS,
            options=LayersOptions,
        ),
        _TYPED,
        replace(
            _TYPED,
            name="handcrafted",
            summary="the meaning of a typed graph as a topology by hand, on Storm's groupings",
            label="Storm, handcrafted",
        ),
    )
    max_workers = None
    environment = ENVIRONMENT

    def version(self) -> str:
        """Return Storm's version."""
        return storm_version(environment.folder(self.name))

    def start(self, task: Task) -> "StormPrepared":
        """Start Java, load the input, deploy the topology, and warm it up on a prefix of the input."""
        data = task.dataset.load()
        if files.span(data) > LONGEST:
            raise UnsupportedError(
                f"{task.workload.name}: storm supports inputs of at most 2**61 ms from the first event "
                f"to the last, but these are {files.span(data)} ms apart; choose a shorter input"
            )
        if task.variant == "layers":
            return _start_layers(task, data, options_of(task, LayersOptions))
        options = options_of(task, TopologyOptions)
        settings = topologies.topology_settings(task, data)
        files.write_job(task, data, options.warm_up_events, settings)
        names = task.workload.program.output.names or ()
        row = np.dtype([(name, "<i8") for name in names])
        return StormPrepared(task, data, options, row, topologies.in_words(task, data))


def _start_layers(task: Task, data: Input, options: LayersOptions) -> "StormPrepared":
    settings = files.layers_settings(task, data, options)
    files.write_job(task, data, options.warm_up_events, settings)
    is_ordered = options.determinism == "communication"
    means = "ScaleGate as channels" if is_ordered else "merge-sorting bolts"
    plan = (
        f"{len(data.streams)} injectors, {task.workers} instances and sinks; "
        f"determinism: {options.determinism} ({means}), dealt by {options.dealing}"
    )
    return StormPrepared(task, data, options, files.RECORD, plan, ordered_channels=is_ordered)


class StormPrepared:
    """Controls a deployed topology whose spouts wait for the clock."""

    def __init__(
        self,
        task: Task,
        data: Input,
        options: TopologyOptions,
        row: np.dtype[np.void],
        plan: str,
        *,
        ordered_channels: bool = False,
    ) -> None:
        """Start Java on the job in the task's folder; `row` is the type of one output row."""
        self._task = task
        self._row = row
        self._plan = plan
        data_bytes = files.input_row(task).itemsize * data.events
        data_bytes += row.itemsize * (task.expected_outputs or data.events)
        heap_mb = options.heap_mb or 1536 + (2 * data_bytes >> 20)
        path = class_path(environment.folder("storm"), ordered_channels=ordered_channels)
        self._process = JavaProcess(
            "storm",
            (
                # A heap of fixed size, touched before the clock starts, and the same collector on every machine.
                *(f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m", "-XX:+AlwaysPreTouch", "-XX:+UseG1GC"),
                f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
                f"-Djava.io.tmpdir={task.scratch}",
                *("-cp", path, MAIN, str(task.scratch)),
            ),
        )
        try:
            self._process.ready()
        except BaseException:
            self._process.close()
            raise

    def run(self) -> Measured:
        """Open the spouts and wait until the sinks have all rows."""
        took_ns, cpu_ns, switches, threads = self._process.ask("go")
        events = self._task.dataset.events
        # Other variants have outputs at markers, which belong to no record.
        has_records = self._task.variant == "layers"
        return Measured(
            events=events,
            latency=self._latency() if has_records else None,
            progress=read_progress(self._task.scratch / "steps") if has_records else None,
            plan=f"{self._plan}; {threads} executors, Java {self._process.java}",
            counters={
                "in_java_ns": float(took_ns),
                "threads": float(threads),
                "graph_cpu_s": cpu_ns / 1e9,
                # ns per tuple / 1e3 = s per million tuples.
                "graph_cpu_s_per_mtuple": cpu_ns / events / 1e3 if events else 0.0,
                "switches_per_mtuple": switches / events * 1e6 if events else 0.0,
            },
        )

    def _latency(self) -> Histogram:
        """Return the latencies of records."""
        latencies = np.fromfile(self._task.scratch / "latencies", dtype="<i8").astype(np.int64)
        return histogram_of(latencies, LATENCY_AT_FULL_SPEED)

    def answer(self) -> Columns:
        """Return all rows, merged over sinks."""
        (sinks,) = self._process.ask("answer")
        rows = files.answer(files.read_sinks(self._task.scratch, sinks, self._row))
        output = self._task.workload.program.output
        return {name: column.astype(output[name], copy=False) for name, column in rows.items()}

    def close(self) -> None:
        """End the Java process."""
        self._process.close()
