"""Adapts Timely Dataflow to the engine protocol: one dataflow in a process of the trial."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from streamlab.engines import event_files
from streamlab.engines.base import BaseEngine
from streamlab.engines.command_process import CommandProcess
from streamlab.engines.conditions import BLOCK, MEMORY, Conditions
from streamlab.engines.event_files import Rows
from streamlab.engines.protocol import Measured, Property, Task, Variant
from streamlab.engines.timely.build import ENVIRONMENT, version
from streamlab.engines.timely.process import SHAPES, measure_ceiling, start_process, write_task
from streamlab.workloads.model import Columns, DGSProgram, Input

_NO_PLAN = "its program has no synchronization by hand; use variant automatic"
_AUTOMATIC = Variant(
    name="automatic",
    summary="dataflows that only Timely parallelizes; fraud detection has a feedback loop",
    label="Timely",
    uses_batch=True,
    takes_load=True,
    source="memory source",
    models=(DGSProgram,),
    conditions=Conditions(unit=BLOCK, origin=MEMORY),
)
_PIP1 = Property(holds=True, why="the number of workers is a setting; no program names it")
_PIP2 = {
    "event_window": Property(holds=True, why="barriers are broadcast; any worker sums any value"),
    "page_view_join": Property(holds=True, why="Timely exchanges events by page"),
    "fraud_detection": Property(holds=True, why="rules and models are broadcast"),
}
_PIP2_MANUAL = Property(
    holds=False, why="a worker filters updates by the pages of its own streams and by its number"
)
_PIP3 = Property(holds=True, why="only the sink has side effects")


class TimelyEngine(BaseEngine):
    """Runs a hand-written dataflow for each supported workload."""

    name: ClassVar[str] = "timely"
    known_variants = (
        _AUTOMATIC,
        replace(
            _AUTOMATIC,
            name="manual",
            summary="updates broadcast, and views joined where they arrive",
            label="Timely, manual",
            lacking={"event_window": _NO_PLAN, "fraud_detection": _NO_PLAN},
        ),
    )
    queries = SHAPES
    max_workers = None
    environment = ENVIRONMENT

    def version(self) -> str:
        """Return the versions of Timely Dataflow and of the Rust compiler."""
        return version()

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return PIP1, PIP2 and PIP3 (DGS paper, section 4.2 and table 1)."""
        second = _PIP2_MANUAL if variant == "manual" else _PIP2[workload]
        return {"PIP1": _PIP1, "PIP2": second, "PIP3": _PIP3}

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Measure the source, which all variants share."""
        return measure_ceiling(batch)

    def start(self, task: Task) -> "TimelyPrepared":
        """Start the process, load the input, and build the dataflow."""
        data = task.dataset.load()
        write_task(task, data)
        process = start_process(task.scratch)
        try:
            process.ready()
        except BaseException:
            process.close()
            raise
        return TimelyPrepared(task, data, process)


class TimelyPrepared:
    """Controls a dataflow that waits for the clock."""

    def __init__(self, task: Task, data: Input, process: CommandProcess) -> None:
        self._task = task
        self._data = data
        self._process = process
        self._rows: Rows | None = None

    def run(self) -> Measured:
        """Start the sources and wait until the sinks have all rows."""
        took_ns, events = self._process.ask("go")
        task = self._task
        plan = f"{task.variant}, {task.workers} worker threads, batches of {task.batch}"
        counters = {"in_rust_ns": float(took_ns)}
        if task.load is None:
            return Measured(events=events, plan=plan, counters=counters)
        rows = self._read()
        by_time = np.full(len(rows), SHAPES[task.workload.name].windows)
        return event_files.measure_load(task, self._data, rows, by_time, plan, counters)

    def answer(self) -> Columns:
        """Return all rows, merged over sinks by the events that made them."""
        return event_files.answer(self._task, SHAPES[self._task.workload.name], self._read())

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def _read(self) -> Rows:
        if self._rows is None:
            (parts,) = self._process.ask("answer")
            timed = self._task.load is not None
            self._rows = event_files.read_rows(self._task.scratch, parts, timed=timed)
        return self._rows
