"""Tasks for the tests of engines: made from an input, run, and compared with the oracle."""

from contextlib import closing
from pathlib import Path
from typing import Any

from streamlab.engines.protocol import Engine, Measured, Task
from streamlab.engines.small_dataset import write_dataset
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Columns, Input, OutputType, Workload
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.registry import workload


def task_of(
    chosen: str | Workload,
    data: Input | Dataset,
    folder: Path,
    variant: str,
    *,
    workers: int = 1,
    batch: int = 1,
    **more: Any,
) -> Task:
    """Return a task on an input, which is written below `folder`; `more` are fields of `Task`."""
    subject = workload(chosen) if isinstance(chosen, str) else chosen
    scratch = folder / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    if isinstance(data, Input):
        data = write_dataset(data, subject.name, folder / "data")
    return Task(
        workload=subject,
        dataset=data,
        variant=variant,
        workers=workers,
        batch=batch,
        scratch=scratch,
        **more,
    )


def run_task(engine: Engine, task: Task) -> tuple[Measured, Columns]:
    """Run a task and close it; return what was measured, and the answer."""
    with closing(engine.prepare(task)) as prepared:
        return prepared.run(), prepared.answer()


def check_task(engine: Engine, task: Task) -> tuple[Measured, Columns]:
    """Run a task and compare it with the oracle; return what was measured, and the answer."""
    measured, answer = run_task(engine, task)
    assert_equal(task.workload.oracle(task.dataset.load()), answer, task.workload.output)
    assert measured.events == task.dataset.events
    return measured, answer


def assert_equal(expected: Columns, answer: Columns, output: OutputType) -> None:
    """Compare two answers as traces, and say where they differ."""
    difference = compare(expected, answer, output)
    assert difference.equal, difference.render()
