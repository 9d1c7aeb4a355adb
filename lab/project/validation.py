"""Compares the simulation with runs of the real engine: other input and other processes."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from lab.errors import LabError
from lab.notebook import run
from lab.project.calibration import Calibration, Told
from lab.project.simulation import simulate
from lab.project.subject import Subject
from results.schema import VERIFIED
from results.store import read_run
from workloads.optimizers import DEFAULT

SEED = 2
"""Costs are measured on input of another seed."""
BATCH = 4096
MOST_WORKERS = 64
"""Threads of a native run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Verified runs with so many workers: events a second of each."""

    workers: int
    rates_eps: tuple[float, ...]
    loadavg: float

    @property
    def rate_eps(self) -> float:
        """The median."""
        return float(median(self.rates_eps))


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A measured point, and what the simulation says of it.

    Attributes:
        measured: the runs.
        predicted_eps: of the same run, its start included.
        steady_eps: of one that is long enough for its start not to count.
        oversubscribed: whether there were more workers than cores.
    """

    measured: Measured
    predicted_eps: float
    steady_eps: float
    oversubscribed: bool

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted_eps / self.measured.rate_eps - 1


def worst_error(points: Sequence[Point]) -> float:
    """Return the largest error, without its sign; NaN of no points."""
    return max((abs(point.error) for point in points), default=float("nan"))


def numbers_of_workers(subject: Subject, cores: int) -> list[int]:
    """Return the numbers of workers to compare at: one, two, the cores, twice and 4 times them.

    Those for which the plan has work for all; others are runs of fewer.
    """
    asked = sorted({1, min(2, cores), cores, 2 * cores, 4 * cores})
    return [n for n in asked if n <= MOST_WORKERS and subject.work(n).workers == n]


def measure(
    subject: Subject, workers: Sequence[int], *, repetitions: int, told: Told
) -> tuple[Measured, ...]:
    """Run the workload with each number of workers, each run in a fresh process, verified.

    Raises:
        LabError: a point has no verified run; the message has a reason.
    """
    groups = [list(workers)] if subject.grow is None else [[n] for n in workers]
    with tempfile.TemporaryDirectory(prefix="lab-project-") as folder:
        return tuple(
            measured
            for number, group in enumerate(groups)
            for measured in _run(subject, group, repetitions, Path(folder) / str(number), told)
        )


def _run(
    subject: Subject, workers: Sequence[int], repetitions: int, folder: Path, told: Told
) -> list[Measured]:
    told(f"runs, number of workers: {', '.join(map(str, workers))}")
    given = subject.dataset is not None
    done = run(
        workloads=[subject.reference],
        engines=["multicore/dgs"],
        workers=workers,
        batch=[BATCH],
        repetitions=repetitions,
        dataset=subject.dataset,
        events=None if given else subject.events_for(workers[0]),
        params=None if given else subject.params_for(workers[0]),
        seed=None if given else SEED,
        # A plan as it is: nobody does the work of others.
        options={"gather": False, "optimizer": subject.optimizer or DEFAULT},
        out=folder,
    )
    rows = read_run(done.path).rows
    found = []
    for number in workers:
        own = [row for row in rows if row["workers"] == number]
        rates = [row["throughput_eps"] for row in own if row["status"] in VERIFIED]
        if not rates:
            why = "; ".join({f"{row['status']}: {row.get('reason')}" for row in own})
            raise LabError(
                f"no verified run of {subject.reference} with {number} workers to "
                f"compare with ({why})"
            )
        found.append(
            Measured(
                workers=number,
                rates_eps=tuple(rates),
                loadavg=max(row["loadavg_before"] for row in own),
            )
        )
    return found


def compare(
    subject: Subject, calibration: Calibration, measured: Sequence[Measured]
) -> tuple[Point, ...]:
    """Return what the simulation says of measured points, on the machine at hand."""
    machine = calibration.machine()
    points = []
    for one in measured:
        work = subject.work(one.workers)
        predicted = simulate(work, calibration.costs_for(one.workers), machine)
        points.append(
            Point(
                measured=one,
                predicted_eps=predicted.run_rate_eps,
                steady_eps=predicted.rate_eps,
                oversubscribed=one.workers > machine.cores,
            )
        )
    return tuple(points)
