"""Runs the tasks that make datasets, in this process or on Spark.

In this process tasks run in threads on all cores. Spark is for clusters: on one machine it only adds its start-up
time (docs/data.md). Both make the same dataset with the same id.
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
"""The work of a step for one index. Its result must be convertible to JSON. It may run twice for an index."""

AUTO, PROCESS, SPARK = "auto", "process", "spark"
EXECUTOR_NAMES = (AUTO, PROCESS, SPARK)

_TASKS_PER_CORE = 4
"""Maximum number of Spark partitions per core. With several, cores that finish early take more work."""
_QUICK_START = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Saves 5 of 12 s of CPU time. Java only schedules tasks, so it needs little compiled code."""


@contextmanager
def open_executor(step: str, executor_name: str, *, master: str) -> Iterator["Executor"]:
    """Yield an executor that runs tasks in this process or on Spark.

    Args:
        step: the work in words, for errors.
        executor_name: one of `EXECUTOR_NAMES`; `auto` uses Spark if `master` is not the default.
        master: the master URL of Spark.

    Raises:
        DatasetError: Spark does not start, or a step fails.
    """
    if executor_name not in EXECUTOR_NAMES:
        raise DatasetError(f"--with is {executor_name!r}; give one of {', '.join(EXECUTOR_NAMES)}")
    if executor_name == SPARK or (executor_name == AUTO and master != DEFAULT_MASTER):
        with spark(f"lab: {step}", master=master, conf=_QUICK_START) as session:
            yield OnSpark(session)
        return
    try:
        yield InProcess()
    except OSError as error:
        raise DatasetError(f"{step} failed: {error}") from error


class InProcess:
    """Runs tasks in threads of this process, one per core. NumPy, Arrow and hashes release the interpreter's lock."""

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
    """Runs tasks in parallel in a Spark session. Its workers must reach the folders that tasks name."""

    def __init__(self, session: "pyspark.sql.SparkSession") -> None:
        self._session = session

    def run(self, task: Task, count: int) -> list[Any]:
        """Call `task` with 0 to `count` - 1 and return the results in that order."""
        work = self._tasks(count).mapInArrow(partial(_run_tasks, task), "task long, result string")
        results = {row.task: json.loads(row.result) for row in work.collect()}
        return [results[index] for index in range(count)]

    def _tasks(self, count: int) -> Any:
        """Return a Spark data frame with the indices of the tasks."""
        cores = self._session.sparkContext.defaultParallelism
        partitions = max(1, min(count, _TASKS_PER_CORE * cores))
        return self._session.range(0, count, 1, numPartitions=partitions)


Executor = InProcess | OnSpark
"""Runs the tasks of a step."""


def _run_tasks(task: Task, batches: Batches) -> Batches:
    """Run a task for each index of the batches, in a Python process of Spark."""
    for batch in batches:
        for index in batch.column(0).to_pylist():
            result = json.dumps(task(index))
            yield pa.RecordBatch.from_pydict({"task": [index], "result": [result]})
