"""Runs many queries in one Java process, whose start takes longer than a query."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from streamlab.engines.flink import files
from streamlab.engines.flink.adapter import FlinkEngine
from streamlab.engines.flink.process import FlinkProcess, network_mb
from streamlab.engines.flink.workloads import flink_options
from streamlab.engines.protocol import Task
from streamlab.lab.judge.verify import verify
from streamlab.workloads.model import Input, Workload
from tests.engines.tasks import task_of

HEAP_MB = 512
OPTIONS = {"warm_up_rounds": 0, "heap_mb": HEAP_MB}
WORKERS = 2


def prepared(found: Workload, variant: str, data: Input, folder: Path) -> Task:
    """Write an input and the query of a workload for Java; return the task."""
    task = task_of(found, data, folder, variant, options=OPTIONS, workers=WORKERS)
    data = task.dataset.load()
    warm_up = {f"warm_up_rows.{index}": 0 for index in range(len(data.streams))}
    own = {"network_mb": network_mb(WORKERS), "slots": WORKERS}
    settings = {**asdict(flink_options(task)), **warm_up, **own}
    files.write_task(task, data, settings, task.scratch)
    query = FlinkEngine().query_text(found, variant)
    (task.scratch / "query.sql").write_text(query, encoding="utf-8")
    return task


def check_answers(tasks: Sequence[Task]) -> list[bool]:
    """Check that every answer is the oracle's; return which have rows."""
    folders = [task.scratch for task in tasks]
    process = FlinkProcess(*folders, heap_mb=HEAP_MB, workers=WORKERS)
    answered = []
    try:
        process.ready()
        for number, task in enumerate(tasks):
            if number:
                process.next()
            process.ask("go")
            (parts,) = process.ask("answer")
            data = task.dataset.load()
            answer = files.query_answer(task, data, task.scratch, parts)
            found = verify(task.workload, task.dataset, answer, task.workload.oracle(data))
            params = task.workload.query_params
            assert found.difference is None, f"{task.workload.name} {params}: {found.difference}"
            answered.append(len(answer["ts"]) > 0)
    finally:
        process.close()
    return answered
