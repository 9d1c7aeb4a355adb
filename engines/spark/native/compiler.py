"""Finds the engine that compiles programs for tasks: adapters do not import each other."""

from streamlab.engines.registry import engine
from streamlab.engines.spark.generic.task_reference import TaskReference
from streamlab.engines.work_split import SplitsWork, WorkSplit
from streamlab.workloads.model import Program

COMPILER = "multicore"


def split_work(program: Program, task: TaskReference) -> WorkSplit:
    """Split a program's work into a share for each worker."""
    compiler = engine(COMPILER)
    assert isinstance(compiler, SplitsWork)
    return compiler.split_work(
        program, task.alphabet, until_ts=task.closing + 1, shares=task.workers
    )
