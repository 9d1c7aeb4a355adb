"""Finds the engine that compiles programs for tasks, because adapters do not import each other."""

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from pyspark import SparkFiles

from streamlab.engines.registry import engine
from streamlab.engines.spark.layout import time_span
from streamlab.engines.spark.workloads import COMPILER
from streamlab.engines.work_split import SplitsWork, WorkSplit
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Program

COMPILER_ARCHIVE = "compiler.zip"
"""The archive of the compiling engine's folder, on a cluster. Python loads no extension module from a zip file."""


def split_work(program: Program, dataset: Dataset, *, workers: int, partials: bool) -> WorkSplit:
    """Split a program's work into a share for each worker; see `SplitsWork`."""
    _find_compiler()
    compiler = engine(COMPILER)
    assert isinstance(compiler, SplitsWork)
    span = time_span(dataset)
    if span is not None:  # A share does not see the input's last event, so state its time.
        dataset = replace(dataset, until_ts=span[1] + 1)
    return compiler.split_work(program, dataset, shares=workers, partials=partials)


def _find_compiler() -> None:
    """On a node of a cluster, import the compiling engine from its unpacked archive."""
    package = import_module(f"streamlab.engines.{COMPILER}")
    if find_spec(f"{package.__name__}._core") is None:
        package.__path__ = [str(Path(SparkFiles.getRootDirectory(), COMPILER_ARCHIVE))]
