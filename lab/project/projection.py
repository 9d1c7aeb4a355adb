"""Predicts rates on machines that are not here: what `lab project` shows."""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.project.calibration import Calibration
from lab.project.simulation import Machine, Network, Simulated, simulate
from lab.project.subject import Subject
from reports.numbers import number_of

IGNORED = (
    "ignored: caches that fill up, hyperthreads, NUMA, clock rates that fall with busy cores, "
    "uneven input between synchronizations, and memory unless --memory-gb-s bounds it"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """A predicted point, of a run that is long enough for its start not to count.

    Attributes:
        machines, cores: how many machines, and of each its cores.
        simulated: what was found; its `workers` are those that the plan has work for.
    """

    machines: int
    cores: int
    simulated: Simulated

    @property
    def all_cores(self) -> int:
        """Cores of all machines, which is the number of workers that are offered."""
        return self.machines * self.cores


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is assumed of the machines.

    Attributes:
        cores: numbers of cores of a machine.
        machines: numbers of machines; more than one wants one number of cores.
        network: between them.
        memory_bytes_per_ns: that the cores of a machine read together; None: no bound.
    """

    cores: Sequence[int]
    machines: Sequence[int]
    network: Network
    memory_bytes_per_ns: float | None = None


def project(
    subject: Subject, calibration: Calibration, setting: Setting, *, seed: int = 1
) -> tuple[Predicted, ...]:
    """Simulate a worker for each core, on each of the machines that are assumed."""
    return tuple(
        _predict(subject, calibration, setting, machines, cores, seed)
        for machines in setting.machines
        for cores in setting.cores
    )


def _predict(
    subject: Subject,
    calibration: Calibration,
    setting: Setting,
    machines: int,
    cores: int,
    seed: int,
) -> Predicted:
    machine = Machine(
        cores=cores,
        machines=machines,
        switch_ns=calibration.switch_ns,
        slice_ns=calibration.slice_ns,
        memory_bytes_per_ns=setting.memory_bytes_per_ns,
        network=setting.network if machines > 1 else None,
    )
    work = subject.work(machines * cores)
    costs = calibration.costs_for(machines * cores)
    return Predicted(
        machines=machines,
        cores=cores,
        simulated=simulate(work, costs, machine, seed=seed),
    )


def remarks(
    predicted: Sequence[Predicted], calibration: Calibration, setting: Setting, *, can_grow: bool
) -> list[str]:
    """Return what whoever reads predictions should know, a sentence each.

    Args:
        predicted: what is shown.
        calibration: of this machine.
        setting: what was assumed.
        can_grow: whether the input could be made larger with the number of workers, and is not.
    """
    found = [IGNORED]
    idle = [one for one in predicted if one.simulated.workers < one.all_cores]
    if idle:
        remedy = (
            "; --grow PARAMETER makes that parameter of the generator the number of workers"
            if can_grow
            else ""
        )
        found.append(
            f"the plan has work for {idle[-1].simulated.workers} of {idle[-1].all_cores} workers"
            f"{remedy}"
        )
    bound = calibration.memory_bytes_per_ns
    reads = max(predicted, key=lambda one: one.simulated.memory_bytes_per_ns / one.machines)
    rate = reads.simulated.memory_bytes_per_ns / reads.machines
    if setting.memory_bytes_per_ns is None and rate > bound:
        found.append(
            f"{number_of(reads.cores, 'core')} would read {rate:.3g} GB/s, and those of this "
            f"machine read {bound:.3g} GB/s from memory: bound it by --memory-gb-s"
        )
    return found
