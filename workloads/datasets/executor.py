"""Runs the steps that make datasets, in this process or on Spark.

In this process tasks run in threads on all cores, where local Spark has only its start-up to add (docs/data.md).
Spark is for clusters. The dataset's id is the same either way.
"""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from streamlab.workloads.control_group import usable_cores_here
from streamlab.workloads.datasets import pa, pyspark
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.spark_session import DEFAULT_MASTER, spark

Batches = Iterator["pa.RecordBatch"]
Task = Callable[[int], Any]
"""A step's work on one index; its result must fit JSON. May be called twice for an index."""

AUTO, PROCESS, SPARK = "auto", "process", "spark"
EXECUTOR_NAMES = (AUTO, PROCESS, SPARK)

_TASKS_PER_CORE = 4
_QUICK_START = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Saves 5 of 12 s of CPU, since Java only schedules tasks."""


@contextmanager
def open_executor(step: str, executor_name: str, *, master: str) -> Iterator["Executor"]:
    """Yield an executor for the steps.

    Args:
        step: the work in words, for errors.
        way: one of `EXECUTOR_NAMES`; `auto` uses Spark if a master is named.
        master: of Spark.

    Raises:
        DatasetError: Spark does not start, or a step fails.
    """
    if way not in EXECUTOR_NAMES:
        raise DatasetError(f"--with is {way!r}; give one of {', '.join(EXECUTOR_NAMES)}")
    if way == SPARK or (way == AUTO and master != DEFAULT_MASTER):
        with spark(f"lab: {step}", master=master, conf=_QUICK_START) as session:
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


class OnSpark:
    """Runs tasks in parallel in a Spark session, whose workers must reach the folders that tasks name."""

    def __init__(self, session: "pyspark.sql.SparkSession") -> None:
        self._session = session

    def run(self, task: Task, count: int) -> list[Any]:
        """As `InProcess.run`."""
        work = self._tasks(count).mapInArrow(partial(_work, task), "task long, result string")
        results = {row.task: json.loads(row.result) for row in work.collect()}
        return [results[index] for index in range(count)]

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
