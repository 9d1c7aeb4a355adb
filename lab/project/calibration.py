"""Measures a program's costs on this machine, in fresh processes, and fits what only shows in runs.

What is measured is kept for each machine, workload and input, with the conditions of the day.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import median

import msgspec

from lab.errors import LabError
from lab.isolate.process import run_isolated
from lab.parent.host import SOURCE
from lab.project.child import Job, Report
from lab.project.simulation import Machine, simulate
from lab.project.subject import Subject
from workloads.optimizers import DEFAULT
from workloads.optimizers.request import Costs

WORKERS = 2
TIMEOUT_S = 600.0
TRIED_SWITCH_NS = 1000.0
"""The duration on one core is a straight line in the cost of a switch: two points say which."""

Told = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What steps cost on this machine.

    Attributes:
        costs: medians over processes; `cores` are those of this machine.
        alone: likewise, of the input of one worker.
        lowest, highest: of each process's costs.
        switch_ns: to give a core from one worker to another.
        slice_ns: after so long a core is given to another worker that waits for it.
        memory_bytes_per_ns: that all cores of this machine read together.
        processes: how many measured.
        loadavg: highest during the measurement.
    """

    costs: Costs
    alone: Costs
    lowest: Costs
    highest: Costs
    switch_ns: float
    slice_ns: float
    memory_bytes_per_ns: float
    processes: int
    loadavg: float

    def costs_for(self, workers: int) -> Costs:
        """Return what steps cost where so many work: one may have fewer streams to put in order."""
        return self.alone if workers == 1 else self.costs

    def machine(self) -> Machine:
        """Return this machine."""
        return Machine(cores=self.costs.cores, switch_ns=self.switch_ns, slice_ns=self.slice_ns)


def calibrate(subject: Subject, *, processes: int, told: Told) -> Calibration:
    """Measure in so many fresh processes.

    Raises:
        LabError: a process failed.
    """
    reports = []
    for number in range(processes):
        told(f"costs, process {number + 1} of {processes}")
        reports.append(_in_a_process(subject))
    return calibration_of(subject, reports)


def calibration_of(subject: Subject, reports: list[Report]) -> Calibration:
    """Return what the processes' reports say together."""
    costs = [report.costs for report in reports]
    middle, lowest, highest = (_each(costs, how) for how in (median, min, max))
    known = [report.slice_ns for report in reports if report.slice_ns]
    slice_ns = known[0] if known else Machine.UNKNOWN_SLICE_NS
    one_core_ns = float(median(report.one_core_ns for report in reports))
    return Calibration(
        costs=middle,
        alone=_each([report.alone for report in reports], median),
        lowest=lowest,
        highest=highest,
        switch_ns=_switch_ns(subject, middle, slice_ns, one_core_ns),
        slice_ns=slice_ns,
        memory_bytes_per_ns=float(median(report.memory_bytes_per_ns for report in reports)),
        processes=len(reports),
        loadavg=max(report.loadavg for report in reports),
    )


def _each(costs: list[Costs], how: Callable[[list[float]], float]) -> Costs:
    names = [field.name for field in fields(Costs) if field.name != "cores"]
    found = {name: how([getattr(one, name) for one in costs]) for name in names}
    return Costs(**found, cores=costs[0].cores)


def _switch_ns(subject: Subject, costs: Costs, slice_ns: float, one_core_ns: float) -> float:
    """Return the cost of a switch with which two workers on one core take what was measured.

    Where they never give the core to each other, none can be seen, and it is 0.
    """
    # On any core there is no way between two.
    work = subject.work(WORKERS)
    alone = replace(costs, handover_ns=0.0)

    def took(switch_ns: float) -> float:
        machine = Machine(cores=1, switch_ns=switch_ns, slice_ns=slice_ns)
        return simulate(work, alone, machine).duration_ns

    without, with_it = took(0.0), took(TRIED_SWITCH_NS)
    if with_it <= without:
        return 0.0
    return max(0.0, (one_core_ns - without) * TRIED_SWITCH_NS / (with_it - without))


def _in_a_process(subject: Subject) -> Report:
    job = Job(
        reference=subject.reference,
        events=subject.events_for(WORKERS),
        params={} if subject.dataset is not None else subject.params_for(WORKERS),
        alone=None if subject.grow is None else (subject.events_for(1), subject.params_for(1)),
        dataset=subject.dataset,
        optimizer=subject.optimizer or DEFAULT,
    )
    with tempfile.TemporaryDirectory(prefix="lab-project-") as name:
        folder = Path(name)
        asked, report, log = folder / "job.json", folder / "report.json", folder / "log"
        asked.write_text(json.dumps(msgspec.to_builtins(job)), encoding="ascii")  # bytes of paths
        path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH", "")]))
        outcome = run_isolated(
            [sys.executable, "-m", "lab.project.child", str(asked), str(report)],
            log=log,
            timeout_s=TIMEOUT_S,
            env={"PYTHONPATH": path, "TMPDIR": name},
        )
        if outcome.returncode or outcome.timed_out or not report.exists():
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            how = (
                f"was not done after {TIMEOUT_S:g} s"
                if outcome.timed_out
                else f"ended with code {outcome.returncode}"
            )
            raise LabError(
                f"the process that measures the costs of {subject.reference} {how}: "
                f"{said[-1] if said else 'it wrote nothing'}"
            )
        return msgspec.json.decode(report.read_bytes(), type=Report)
