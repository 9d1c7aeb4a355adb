"""Measures the cells of a matrix in two arms, with alternating trials."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from streamlab.lab.errors import GateError, LabError
from streamlab.lab.gate.arm import Arm, run_in_arm
from streamlab.lab.gate.build import Say
from streamlab.lab.gate.metrics import Pair, TrialResult
from streamlab.lab.gate.status import has_numbers, is_fault, is_lost
from streamlab.lab.matrix.cells import Cell
from streamlab.lab.runner.datasets import check_room_for, find_dataset
from streamlab.lab.trial.spec import EngineTrial, OracleJob
from streamlab.workloads.datasets.dataset import Dataset

# An oracle is simple and slow, but runs only once per dataset.
ORACLE_TIMEOUT_S = 3600.0
_REPORTED_ORACLE_S, _REPORTED_DATASET_S = 10, 1
"""Oracles and datasets that take longer are reported, so that the user knows what the gate waits for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A cell for a gate to run.

    Attributes:
        key: key of the workload; cells with the same key share an oracle's answer.
        slug: the cell's id as a file name.
        job: the trial, without an arm's changes.
    """

    key: str
    slug: str
    timeout_s: float
    job: EngineTrial


def make_works(cells: Sequence[Cell], datasets: Mapping[str, Dataset]) -> dict[str, Work]:
    """Return the work of a gate by cell id; `datasets` has the inputs by workload key."""
    works = {}
    for cell in cells:
        job = cell.job(datasets[cell.entry.key], cell.load)
        works[cell.id] = Work(key=cell.entry.key, slug=cell.slug, timeout_s=cell.timeout_s, job=job)
    return works


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Runs trials of cells and stores their logs.

    Attributes:
        works: cells by id; both arms read the same input files.
        planted: changed fields of a trial by arm name, to test the gate.
        energy: provider of energy counters; `none`: no counters.
    """

    works: Mapping[str, Work]
    logs: Path
    planted: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    energy: str = "none"

    def is_loaded(self, cell_id: str) -> bool:
        """Return whether a cell has an offered load, so that all trials have equal due times."""
        return self.works[cell_id].job.load is not None

    def trial(self, arm: Arm, cell_id: str) -> EngineTrial:
        """Return the specification for a cell's trial in an arm."""
        job = self.works[cell_id].job
        fields = {"workload": arm.localise(job.workload), "energy": self.energy}
        return msgspec.structs.replace(job, **fields, **self.planted.get(arm.name, {}))

    def log(self, arm: Arm, cell_id: str) -> Path:
        """Return the path of the log for a cell's trials in an arm."""
        return self.logs / f"{self.works[cell_id].slug}-{arm.name}.log"

    def run(self, arm: Arm, cell_id: str) -> TrialResult:
        """Run one trial of a cell in an arm."""
        timeout_s = self.works[cell_id].timeout_s
        columns = run_in_arm(
            arm, self.trial(arm, cell_id), log=self.log(arm, cell_id), timeout_s=timeout_s
        )
        return msgspec.convert(columns, TrialResult)

    def make_oracles(self, arm: Arm, say: Say) -> None:
        """Compute the expected answers that an arm lacks; arms with equal oracles share answers."""
        for work in {work.key: work for work in self.works.values()}.values():
            job = OracleJob(
                dataset=work.job.dataset,
                workload=arm.localise(work.job.workload),
                query=work.job.query,
            )
            log = self.logs / f"oracle-{work.key}-{arm.name}.log"
            began = time.monotonic()
            result = run_in_arm(arm, job, log=log, timeout_s=ORACLE_TIMEOUT_S)
            if result.get("status") is not None:
                raise GateError(
                    f"the oracle of {work.key} failed in {arm.revision}, so no answer can be "
                    f"verified: {result['reason']} ({log})"
                )
            if (took_s := time.monotonic() - began) > _REPORTED_ORACLE_S:
                say(f"oracle of {work.key}, {arm.name} arm: {took_s:.0f} s")


def check_cells(cells: Sequence[Cell]) -> None:
    """Refuse cells that a gate cannot repeat: searches for a rate, and faults."""
    for cell in cells:
        if cell.search is not None:
            raise GateError(
                f"{cell.id} searches for a rate, which takes many trials for one number; gate on "
                "latency at a fixed rate (rate_eps) with --metric p99, or on catch-up"
            )
        if cell.fault is not None:
            raise GateError(
                f"{cell.id} has a fault, whose cost varies too much for a gate; leave it out"
            )


def warm_up(bench: Bench, old: Arm, new: Arm, say: Say) -> dict[str, Pair]:
    """Run one warm-up trial per arm and cell; the comparison ignores these trials.

    The trials compile kernels into the cache, and reveal cells with a wrong answer early.
    """
    pairs = {}
    for cell in bench.works:
        pair = Pair(old=(bench.run(old, cell),), new=(bench.run(new, cell),))
        say(f"{cell}: old {pair.old[0].status}, new {pair.new[0].status}")
        pairs[cell] = pair
    return pairs


def is_measurable(pair: Pair) -> bool:
    """Return whether more trials of a cell are useful: no fault, and a verified answer."""
    trials = (*pair.old, *pair.new)
    return not any(map(is_fault, trials)) and any(map(has_numbers, trials))


def measure(
    bench: Bench, old: Arm, new: Arm, cells: Sequence[str], n: int, say: Say
) -> dict[str, Pair]:
    """Run `n` trials per arm and cell in the order ABBA.

    In every second repetition, the new arm runs first and the cells run in reverse order, so that a
    linear drift affects arms and cells equally. Under an offered load, the two trials of a
    repetition are a pair with equal due times, in random order. A cell that can no longer give a
    number is skipped.
    """
    rng = np.random.default_rng()
    rows: dict[str, dict[str, list[TrialResult]]] = {cell: {"old": [], "new": []} for cell in cells}
    began = time.monotonic()
    for repetition in range(n):
        forward = repetition % 2 == 0
        for cell in cells if forward else reversed(cells):
            if any(map(is_lost, rows[cell].values())):
                continue
            old_first = bool(rng.random() < 0.5) if bench.is_loaded(cell) else forward
            for arm in (old, new) if old_first else (new, old):
                result = bench.run(arm, cell)
                side = "old" if arm is old else "new"
                rows[cell][side].append(result)
                if not has_numbers(result):
                    say(f"{cell}: {side} {result.status}: {result.reason}")
        took_s = time.monotonic() - began
        say(f"repetition {repetition + 1} of {n}: {took_s:.0f} s")
    return {
        cell: Pair(old=results["old"], new=results["new"], same_load=bench.is_loaded(cell))
        for cell, results in rows.items()
    }


def find_inputs(cells: Sequence[Cell], *, master: str, say: Say) -> dict[str, Dataset]:
    """Return the datasets of cells by workload key; generates datasets that the catalogue lacks.

    Raises:
        LabError: `cells` is empty; other errors as for `streamlab.lab.runner.datasets.find_dataset`.
    """
    entries = {cell.entry.key: cell.entry for cell in cells}
    check_room_for(list(entries.values()))
    datasets = {}
    for key, entry in entries.items():
        began = time.monotonic()
        datasets[key] = find_dataset(entry, master=master, say=say)
        if (took_s := time.monotonic() - began) > _REPORTED_DATASET_S:
            say(f"dataset of {key}: {took_s:.1f} s")
    if not datasets:
        raise LabError("no cells to gate; check the matrix and --only")
    return datasets
