"""Starts the process of a trial with the files of its task (see job.rs).

Also measures how fast the source can hand over events that are all due, without work on them.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from streamlab.engines import environment, event_files
from streamlab.engines.command_process import CommandProcess
from streamlab.engines.errors import EngineError
from streamlab.engines.event_files import LONG, Shape
from streamlab.engines.protocol import FULL, Task
from streamlab.engines.timely.build import ENVIRONMENT, PROGRAM
from streamlab.workloads.model import Input

CEILING_EVENTS = 4_000_000

SHAPES: Mapping[str, Shape] = {
    "event_window": Shape(values=("value", None), answer={"sum": "value"}),
    "page_view_join": Shape(
        values=("user", "meta"),
        answer={"kind": "kind", "page": "key", "user": "value", "meta": "other"},
    ),
    "fraud_detection": Shape(values=("value", "value"), answer={"kind": "kind", "value": "value"}),
}


def write_task(task: Task, data: Input) -> None:
    """Write the columns of an input and the settings of the job (see job.rs)."""
    shape, kinds = SHAPES[task.workload.name], len(data.alphabet.kinds)
    lines: dict[str, object] = {
        "workload": task.workload.name,
        "variant": task.variant,
        "workers": task.workers,
        "batch": task.batch,
        "offered": "no" if task.load is None else "yes",
        "full": "yes" if task.load is not None and task.load.batching == FULL else "no",
        "streams": len(data.streams),
        "kinds": kinds,
        "keys": data.alphabet.keys,
        "expected_outputs": task.expected_outputs or 0,
    }
    for index, stream in enumerate(data.streams):
        lines[f"kinds_of.{index}"] = ",".join(map(str, stream.kinds))
        columns = event_files.event_columns(stream, shape, kinds)
        load = event_files.load_columns(task.load, index)
        event_files.write_columns(columns | load, index, task.scratch)
    event_files.write_properties(lines, task.scratch)


def start_process(scratch: Path) -> CommandProcess:
    """Start the program on the job in a folder."""
    return CommandProcess(
        [str(environment.folder("timely") / PROGRAM), str(scratch)], engine="timely"
    )


def measure_ceiling(batch: int) -> float:
    """Run one source with a task that drops all events, and return its events/s.

    A dataflow with more workers has more sources, so this is a lower bound.
    """
    reason = environment.unusable_reason("timely", ENVIRONMENT)
    if reason is not None:
        raise EngineError(reason)
    with tempfile.TemporaryDirectory(prefix="timely-ceiling-") as name:
        folder = Path(name)
        times = np.arange(CEILING_EVENTS)
        columns = {"ts": (times, LONG), "due_ns": (np.zeros_like(times), LONG)}
        event_files.write_columns(columns, 0, folder)
        job = {
            "workload": "nothing",
            "variant": "ceiling",
            "workers": 1,
            "batch": batch,
            "offered": "yes",
            "full": "no",
            "streams": 1,
            "kinds": 1,
            "keys": 1,
            "expected_outputs": 0,
            "kinds_of.0": 0,
        }
        event_files.write_properties(job, folder)
        process = start_process(folder)
        try:
            process.ready()
            took_ns, events = process.ask("go")
            return events * 1e9 / took_ns
        finally:
            process.close()
