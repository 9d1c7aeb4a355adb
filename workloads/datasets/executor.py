"""Runs the steps that make datasets, in this process or on Spark.

In this process tasks run in threads on all cores, where local Spark has only its start-up to add (docs/data.md).
Spark is for clusters, and to sort data larger than memory. The dataset's id is the same either way.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from streamlab.workloads.control_group import available_bytes, usable_cores_here
from streamlab.workloads.datasets import pa, pyspark
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.session import DEFAULT_MASTER, spark

Batches = Iterator["pa.RecordBatch"]
Task = Callable[[int], Any]
"""A step's work on one index; its result must fit JSON. May be called twice for an index."""

AUTO, PROCESS, SPARK = "auto", "process", "spark"
WAYS = (AUTO, PROCESS, SPARK)

_SORTED_ROWS = 1 << 20
_TASKS_PER_CORE = 4
_QUICK_START = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Saves 5 of 12 s of CPU, since Java only schedules tasks; sorting 20 million rows takes a quarter more with it."""
_SORTING_BYTES = 24
"""Memory per row, if rows are sorted in this process."""


@contextmanager
def executor(step: str, way: str, *, master: str, sorts: bool = True) -> Iterator["Executor"]:
    """Yield an executor for the steps.

    Args:
        step: the work in words, for errors.
        way: one of `WAYS`; `auto` uses Spark if a master is named.
        master: of Spark.
        sorts: whether `order` is called.

    Raises:
        DatasetError: Spark does not start, or a step fails.
    """
    if way not in WAYS:
        raise DatasetError(f"--with is {way!r}; give one of {', '.join(WAYS)}")
    if way == SPARK or (way == AUTO and master != DEFAULT_MASTER):
        with spark(f"lab: {step}", master=master, conf={} if sorts else _QUICK_START) as session:
            yield OnSpark(session)
        return
    try:
        yield InProcess()
    except OSError as error:
        raise DatasetError(f"{step} failed: {error}") from error


class InProcess:
    """Runs tasks in threads of this process, one a core: NumPy, Arrow and hashes run without the interpreter's lock."""

    def run(self, task: Task, count: int) -> list[Any]:
        """Call `task` with 0 to `count` - 1 and return the results in that order."""
        threads = min(count, max(1, round(usable_cores_here())))
        if threads <= 1:
            return [task(index) for index in range(count)]
        with ThreadPoolExecutor(threads, "dataset") as pool:
            futures = [pool.submit(task, index) for index in range(count)]
            try:
                return [future.result() for future in futures]
            finally:
                pool.shutdown(cancel_futures=True)

    def order(self, times: Path, target: Path) -> None:
        """Sort rows by time, ties by row: reads int64 times from a file and writes int64 row numbers.

        Raises:
            DatasetError: the rows do not fit into memory.
        """
        rows, free = times.stat().st_size // 8, available_bytes()
        if rows * _SORTING_BYTES > free:
            raise DatasetError(
                f"{rows:,} rows are not in order of time, and sorting them takes "
                f"{rows * _SORTING_BYTES / 1e9:.1f} GB of memory, of which {free / 1e9:.1f} GB are "
                "free; import them --with spark, or sort them first"
            )
        np.argsort(np.memmap(times, np.int64, "r"), kind="stable").tofile(target)


class OnSpark:
    """Runs tasks in parallel in a Spark session, whose workers must reach the folders that tasks name."""

    def __init__(self, session: "pyspark.sql.SparkSession") -> None:
        self._session = session

    def run(self, task: Task, count: int) -> list[Any]:
        """As `InProcess.run`."""
        work = self._tasks(count).mapInArrow(partial(_work, task), "task long, result string")
        results = {row.task: json.loads(row.result) for row in work.collect()}
        return [results[index] for index in range(count)]

    def order(self, times: Path, target: Path) -> None:
        """As `InProcess.order`; memory does not depend on the number of rows."""
        rows = times.stat().st_size // np.dtype(np.int64).itemsize
        parts = -(-rows // _SORTED_ROWS)
        read = self._tasks(parts).mapInArrow(partial(_read_times, times), "ts long, row long")
        written = read.orderBy("ts", "row").mapInArrow(partial(_write_rows, target), "part int")
        with target.open("wb") as combined:
            for index in sorted(row.part for row in written.collect()):
                part = _part(target, index)
                with part.open("rb") as file:
                    shutil.copyfileobj(file, combined)
                part.unlink()

    def _tasks(self, count: int) -> Any:
        cores = self._session.sparkContext.defaultParallelism
        partitions = max(1, min(count, _TASKS_PER_CORE * cores))
        return self._session.range(0, count, 1, numPartitions=partitions)


Executor = InProcess | OnSpark
"""Runs the steps of a pipeline."""


def _work(task: Task, batches: Batches) -> Batches:
    """Run a task in Spark's Python processes."""
    for batch in batches:
        for index in batch.column(0).to_pylist():
            result = json.dumps(task(index))
            yield pa.RecordBatch.from_pydict({"task": [index], "result": [result]})


def _read_times(times: Path, batches: Batches) -> Batches:
    ts = np.memmap(times, np.int64, "r")
    for batch in batches:
        for index in batch.column(0).to_pylist():
            begin = index * _SORTED_ROWS
            part = np.array(ts[begin : begin + _SORTED_ROWS])
            rows = np.arange(begin, begin + len(part))
            yield pa.RecordBatch.from_pydict({"ts": part, "row": rows})


def _write_rows(target: Path, batches: Batches) -> Batches:
    context = pyspark.TaskContext.get()
    assert context is not None
    part = context.partitionId()
    with _part(target, part).open("wb") as file:
        for batch in batches:
            batch.column(1).to_numpy().tofile(file)
    yield pa.RecordBatch.from_pydict({"part": pa.array([part], pa.int32())})


def _part(target: Path, index: int) -> Path:
    return target.with_name(f"{target.name}.{index}")
