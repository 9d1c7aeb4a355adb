"""Finds the engine that compiles programs for tasks: adapters do not import each other."""

from dataclasses import replace

from streamlab.engines.registry import engine
from streamlab.engines.spark.layout import time_span
from streamlab.engines.work_split import SplitsWork, WorkSplit
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Program

COMPILER = "multicore"


def split_work(program: Program, dataset: Dataset, *, workers: int, partials: bool) -> WorkSplit:
    """Split a program's work into a share for each worker; see `SplitsWork`."""
    compiler = engine(COMPILER)
    assert isinstance(compiler, SplitsWork)
    span = time_span(dataset)
    if span is not None:  # No share knows the last event of all.
        dataset = replace(dataset, until_ts=span[1] + 1)
    return compiler.split_work(program, dataset, shares=workers, partials=partials)
