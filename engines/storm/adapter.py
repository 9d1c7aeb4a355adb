"""Adapts Storm to the engine protocol: one topology on a local cluster in a Java process of the trial."""

from typing import ClassVar

import numpy as np

from streamlab.engines import environment
from streamlab.engines.base import BaseEngine
from streamlab.engines.conditions import MEMORY, RECORD, Conditions
from streamlab.engines.errors import UnsupportedError
from streamlab.engines.java_process import JavaProcess
from streamlab.engines.options import options_of
from streamlab.engines.protocol import Measured, Task, Variant
from streamlab.engines.recording import histogram_of
from streamlab.engines.storm import files
from streamlab.engines.storm.build import ENVIRONMENT, HERE, MAIN, class_path, storm_version
from streamlab.engines.storm.files import LayersOptions
from streamlab.workloads.model import Columns, Pipeline

EVENT_BYTES = 32
"""Memory per record of the input or the answer in Java."""
LONGEST = 1 << 61
"""The longest event time of an input: with a warm-up, twice this and more fits a long."""
HANDED_OVER = (
    "from when an injector emitted the record until it was at its sink; at full speed, so it is the "
    "time spent in queues"
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
            conditions=Conditions(unit=RECORD, origin=MEMORY),
            options=LayersOptions,
        ),
    )
    queries: ClassVar = dict.fromkeys(("linear_road_pos_rep", "linear_road_new_seg"), "Rule.java")
    most_workers = None
    environment = ENVIRONMENT

    def version(self) -> str:
        """Return Storm's version."""
        return storm_version(environment.folder(self.name))

    def start(self, task: Task) -> "StormPrepared":
        """Start Java, load the input, deploy the topology, and warm it up on a prefix of the input."""
        return StormPrepared(task, options_of(task, LayersOptions))


class StormPrepared:
    """Controls a deployed topology whose injectors wait for the clock."""

    def __init__(self, task: Task, options: LayersOptions) -> None:
        self._task = task
        self._options = options
        data = task.dataset.load()
        if files.span(data) > LONGEST:
            raise UnsupportedError(
                f"{task.workload.name}: storm orders event times of 2**61 ms or less from the first "
                f"to the last, and these are {files.span(data)} ms apart"
            )
        files.write_job(task, data, options)
        rows = data.events + (task.expected_outputs or data.events)
        heap_mb = options.heap_mb or 1536 + (2 * EVENT_BYTES * rows >> 20)
        path = class_path(
            environment.folder("storm"), ordered_channels=options.determinism == "communication"
        )
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
        """Open the injectors and wait until the sinks have all records."""
        took_ns, cpu_ns, switches, threads = self._process.ask("go")
        events = self._task.dataset.events
        latencies = np.fromfile(self._task.scratch / "latencies", dtype="<i8").astype(np.int64)
        return Measured(
            events=events,
            latency=histogram_of(latencies, HANDED_OVER),
            plan=self._plan(threads),
            counters={
                "in_java_ns": float(took_ns),
                "threads": float(threads),
                "graph_cpu_s": cpu_ns / 1e9,
                # ns per tuple / 1e3 = s per million tuples.
                "graph_cpu_s_per_mtuple": cpu_ns / events / 1e3 if events else 0.0,
                "switches_per_mtuple": switches / events * 1e6 if events else 0.0,
            },
        )

    def answer(self) -> Columns:
        """Return all records, merged over sinks."""
        (sinks,) = self._process.ask("answer")
        return files.answer(files.read_sinks(self._task.scratch, sinks))

    def close(self) -> None:
        """End the Java process."""
        self._process.close()

    def _plan(self, threads: int) -> str:
        task, determinism = self._task, self._options.determinism
        means = "ScaleGate as channels" if determinism == "communication" else "merge-sorting bolts"
        return (
            f"{len(task.dataset.streams)} injectors, {task.workers} instances and sinks; "
            f"determinism: {determinism} ({means}), dealt by {self._options.dealing}; "
            f"{threads} executors, Java {self._process.java}"
        )
