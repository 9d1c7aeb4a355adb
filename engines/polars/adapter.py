"""The adapter of Polars.

No stream, no heartbeat, no latency of an output: the whole input at once, on Polars' pool of
threads. It is what batch work is measured by: an engine that is slower has to say what the order
of events buys.
"""

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from engines.base import BatchEngine
from engines.conditions import DECODING, FILE, MEMORY, READING, WHOLE, Conditions
from engines.environment import Environment
from engines.protocol import Property, Task, Variant
from workloads.model import Columns

POOL = "POLARS_MAX_THREADS"
"""Environment variable that Polars reads once, when it is imported."""

IN_MEMORY, FROM_FILE = "memory", "file"

CUT_BY_MARKERS = ("event_window", "fraud_detection", "keyed_counter", "page_view_join")
"""Workloads with bulk events and markers, which a user has in two tables."""

QUERIES = {
    path.stem: f"engines.polars.queries.{path.stem}"
    for path in sorted(Path(__file__).with_name("queries").glob("[a-z]*.py"))
}
"""Module by workload; imported when it is run, for Polars is imported with it."""

LACKING = {
    "parametric": "it multiplies matrices and chains words of a state record by record, which is "
    "made to cost time and is no query",
}
VARIANTS = (
    Variant(
        name=IN_MEMORY,
        summary="data frames in memory, on Polars' pool of threads; the whole input at once",
        lacking=LACKING,
        conditions=Conditions(unit=WHOLE, origin=MEMORY),
    ),
    Variant(
        name=FROM_FILE,
        summary="the same queries over the Parquet files, which are read inside the clock",
        lacking=LACKING,
        conditions=Conditions(unit=WHOLE, origin=FILE, also_timed=(READING, DECODING)),
    ),
)


class PolarsEngine(BatchEngine):
    """Runs a workload as the data-frame query that a user would write for it."""

    name = "polars"
    known_variants = VARIANTS
    queries = QUERIES
    most_workers = None
    packages = ("polars",)
    environment = Environment(lock=Path(__file__).with_name("requirements.txt"))

    def refused(self, task: Task) -> str | None:
        """Return why Polars cannot have so many threads, or why a stream is no table."""
        mixed = [stream.name for stream in task.dataset.streams if len(stream.kinds) > 1]
        if mixed and task.workload.name in CUT_BY_MARKERS:
            return (
                f"stream {mixed[0]} carries bulk events and markers; polars takes tables of one "
                "kind each"
            )
        polars = sys.modules.get("polars")
        threads = task.workers if polars is None else int(polars.thread_pool_size())
        if threads != task.workers:
            return f"polars has {threads} threads in this process already, not {task.workers}"
        return None

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return PIP1 to PIP3: nothing here is a program of events."""
        lost = Property(holds=False, why="written for this workload, not derived from its program")
        free = Property(holds=True, why="no worker and no partition is named")
        return {"PIP1": free, "PIP2": free, "PIP3": lost}

    def load(self, task: Task) -> Any:
        """Set the size of the pool, then import Polars and the query, and open or read tables."""
        os.environ[POOL] = str(task.workers)
        from engines.polars.tables import in_memory, scanned

        query = import_module(QUERIES[task.workload.name])
        tables = scanned(task.dataset, task.workload)
        return query, in_memory(tables) if task.variant == IN_MEMORY else tables

    def compute(self, task: Task, data: Any) -> Any:
        """Run the query to its end: a data frame, or one for each partition of the outputs."""
        query, tables = data
        answer = query.answer(tables)
        return answer.collect() if hasattr(answer, "collect") else answer

    def columns(self, task: Task, answer: Any) -> Columns:
        """Return the outputs; those of partitions are merged by event time, then by stream."""
        names = task.workload.program.output.names or ()
        if not isinstance(answer, list):
            return {name: answer[name].to_numpy() for name in names}
        joined = {
            name: np.concatenate([part[name].to_numpy() for part in answer])
            for name in (*names, "src")
        }
        order = np.lexsort((joined["src"], joined["ts"]))
        return {name: joined[name][order] for name in names}

    def plan(self, task: Task) -> str:
        """Say how many threads it had."""
        return f"polars: the whole input at once, {task.workers} threads"
