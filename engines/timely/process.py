"""Starts the process of a trial with the files of its task (see job.rs)."""

from collections.abc import Mapping
from pathlib import Path

from streamlab.engines import environment, event_files
from streamlab.engines.command_process import CommandProcess
from streamlab.engines.event_files import Shape
from streamlab.engines.protocol import FULL, Task
from streamlab.engines.timely.build import ENVIRONMENT, PROGRAM
from streamlab.workloads.model import Input

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
    """Return how many events/s a source hands over (`event_files.measure_ceiling`)."""
    job = {"batch": batch, "full": "no", "keys": 1, "expected_outputs": 0}
    return event_files.measure_ceiling("timely", ENVIRONMENT, job, start_process)
