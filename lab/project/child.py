"""The process in which costs are measured: `python -m lab.project.child JOB REPORT`.

It runs the real core on the beginning of the workload's input, as the optimizer `cost` does, and
then two workers on one core, which shows what it takes to give a core from one to the other. Each
run finds what a trial of the lab does: nothing of its input in caches, and cores that sleep.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from engines.multicore.dgs.run import durations_ns, plan_costs
from workloads.datasets.catalog import Catalog
from workloads.datasets.generated import generated
from workloads.model import DGSProgram, Input
from workloads.model.narrow import dgs_program
from workloads.optimizers.request import Costs
from workloads.registry import workload

WORKERS = 2
SEED = 1
TIMES = 3
"""Runs on one core, of which the middle counts, after one that touches the memory; reads of it."""
MEMORY_BYTES = 256 << 20
"""Read by each core: beyond any cache but those of the largest machines."""
REST_S = 0.05
"""After which a core without work sleeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be measured; as in `lab.project.subject.Subject`.

    Attributes:
        reference: the workload.
        events, params: of generated input for two workers.
        alone: both for one worker, where it has other input; None: it has the same.
        dataset: in place of generated input.
        optimizer: who makes the plan.
    """

    reference: str
    events: int
    params: Mapping[str, Any]
    alone: tuple[int, Mapping[str, Any]] | None
    dataset: str | None
    optimizer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was measured in one process.

    Attributes:
        costs: of the program's steps.
        alone: likewise, of the input of one worker.
        one_core_ns: two workers on one core, the whole input of the job.
        memory_bytes_per_ns: that all cores read together from memory.
        slice_ns: after which the kernel takes a core from who does not give it; None: not known.
        loadavg: when it was done.
    """

    costs: Costs
    alone: Costs
    one_core_ns: float
    memory_bytes_per_ns: float
    slice_ns: float | None
    loadavg: float


def main(arguments: list[str]) -> None:
    """Measure what the job says and write the report."""
    job_path, report_path = map(Path, arguments)
    job = msgspec.convert(json.loads(job_path.read_text(encoding="ascii")), type=Job)
    report_path.write_bytes(msgspec.json.encode(measure(job)))


def measure(job: Job) -> Report:
    """Measure in this process; afterwards it may use one core only."""
    program = dgs_program(workload(job.reference))
    data = _input(job)
    memory = memory_bytes_per_ns()
    as_new = _forgetting()

    def costs_of(data: Input) -> Costs:
        return plan_costs(program, data, WORKERS, as_trials=as_new)

    costs = costs_of(data)
    return Report(
        costs=costs,
        alone=costs if job.alone is None else costs_of(_generated(job, *job.alone)),
        one_core_ns=_on_one_core(job, program, data, as_new),
        memory_bytes_per_ns=memory,
        slice_ns=slice_ns(),
        loadavg=os.getloadavg()[0],
    )


def _input(job: Job) -> Input:
    if job.dataset is not None:
        return Catalog.default().get(job.dataset).load()
    return _generated(job, job.events, job.params)


def _generated(job: Job, events: int, params: Mapping[str, Any]) -> Input:
    found = workload(job.reference)
    return generated(found, found.params(dict(params)), events, SEED)


def _forgetting() -> Callable[[], None]:
    """Return what has caches forget what was in them, and cores go to sleep."""
    other = np.ones(MEMORY_BYTES // 8)

    def forget() -> None:
        other.sum()
        time.sleep(REST_S)

    return forget


def _on_one_core(job: Job, program: DGSProgram, data: Input, as_new: Callable[[], None]) -> float:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    took = durations_ns(
        program, data, WORKERS, TIMES + 1, optimizer=job.optimizer, as_trials=as_new
    )
    return float(median(took[1:]))


def memory_bytes_per_ns() -> float:
    """Return how fast all usable cores together read memory, at least.

    Sums of arrays, all cores at once, the quickest of a few times: other work only slows them.
    """
    arrays = [np.ones(MEMORY_BYTES // 8) for _ in os.sched_getaffinity(0)]
    quickest = min(_all_at_once(arrays) for _ in range(TIMES))
    return MEMORY_BYTES * len(arrays) / max(1, quickest)


def _all_at_once(arrays: list[npt.NDArray[np.float64]]) -> int:
    begin = time.monotonic_ns()
    threads = [Thread(target=_sum, args=(array,)) for array in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic_ns() - begin


def _sum(array: npt.NDArray[np.float64]) -> None:
    array.sum()


def slice_ns() -> float | None:
    """Return the kernel's time slice of an ordinary thread; None where it does not say."""
    try:
        said = os.sched_rr_get_interval(0) * 1e9
    except OSError:
        return None
    return said if said > 0 else None


if __name__ == "__main__":
    main(sys.argv[1:])
