"""Reads the CPU time and page faults of process trees, and warns about unusual ones."""

import os
import resource
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from streamlab.results.schema import TrialRow

MAX_SYSTEM_SHARE = 0.2
"""A larger share of system time in a timed part gives a warning, because the rate then depends on the kernel as well.
Trials on fresh memory showed shares of 0.6 to 0.9, other trials 0.0 to 0.15."""
LEAST_SYSTEM_S = 0.02
"""Five ticks of the kernel's clock, which splits CPU time into user and system. Below this time the split is random:
equal work of 13 ms showed system shares of 0.0 to 0.7."""
TICK_S = 0.004
"""Step of the kernel's clock, at 250 Hz."""
FEW_FAULTS = 64
"""Code that runs for the first time has up to this many page faults. With more faults, the split counts from one tick
on. Trials on fresh memory had 77 to 24,000 faults, other trials 11 to 57."""

MAX_CORES_PER_WORKER = 1.1
"""Largest number of used cores per worker without a warning."""
PROCESS_TICK_S = 0.01
"""The kernel counts the CPU time of other processes in these steps."""

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Sums over processes, since their start or between two readings.

    Attributes:
        user_s, system_s: CPU time in seconds. The sum is exact; the split may have a resolution of some ms.
        minor_faults: page faults without disk access: first use of memory (a page of 4 KiB or 2 MiB) or
            of code.
        major_faults: page faults that waited for a disk.
    """

    user_s: float = 0.0
    system_s: float = 0.0
    minor_faults: int = 0
    major_faults: int = 0

    @property
    def cpu_s(self) -> float:
        """Return the sum of user and system time."""
        return self.user_s + self.system_s

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            user_s=self.user_s + other.user_s,
            system_s=self.system_s + other.system_s,
            minor_faults=self.minor_faults + other.minor_faults,
            major_faults=self.major_faults + other.major_faults,
        )

    def cpu_s_since(self, before: "Usage") -> float:
        """Return the CPU time since an earlier reading; never negative."""
        return max(0.0, self.cpu_s - before.cpu_s)

    def columns_since(self, before: "Usage") -> dict[str, float | int]:
        """Return the usage since an earlier reading as columns of a trial; never negative."""
        return {
            "cpu_s": self.cpu_s_since(before),
            "user_s": max(0.0, self.user_s - before.user_s),
            "system_s": max(0.0, self.system_s - before.system_s),
            "minor_faults": max(0, self.minor_faults - before.minor_faults),
            "major_faults": max(0, self.major_faults - before.major_faults),
        }


def tree_usage(processes: Iterable[psutil.Process]) -> Usage:
    """Return the usage of this process and `processes`, with ended descendants.

    Ended processes count through the parent that waited for them; orphans do not count.
    The resolution is a microsecond for this process, and the kernel's tick (10 ms) for others.
    """
    return own_usage() + usage_of(processes)


def own_usage() -> Usage:
    """Return the usage of this process and of children that the process has waited for; takes 1 us."""
    return _rusage(resource.RUSAGE_SELF) + _rusage(resource.RUSAGE_CHILDREN)


def usage_of(processes: Iterable[psutil.Process]) -> Usage:
    """Return the usage of other processes from /proc; takes some 100 us for each."""
    return sum((_process_usage(process.pid) for process in processes), Usage())


def core_warnings(row: TrialRow) -> list[str]:
    """Return a warning if a trial used more cores than it has workers.

    Other threads (a compiler, a garbage collector, a source) then contribute to the trial's rate.
    The limit allows a tenth of the workers and two ticks of the kernel's clock.
    """
    cpu_s, duration_s, workers = row.cpu_s, row.duration_s, row.workers
    if cpu_s is None or duration_s is None or duration_s <= 0:
        return []
    if cpu_s <= MAX_CORES_PER_WORKER * workers * duration_s + 2 * PROCESS_TICK_S:
        return []
    unit = "worker" if workers == 1 else "workers"
    return [
        f"it used {cpu_s / duration_s:.1f} cores with {workers} {unit}: compare its CPU time per "
        "event, not its rate per worker"
    ]


def kernel_warnings(row: TrialRow) -> list[str]:
    """Return a warning if the kernel took much of a trial's CPU time."""
    cpu_s, system_s = row.cpu_s, row.system_s
    if cpu_s is None or system_s is None or cpu_s <= 0:
        return []
    share, minor = system_s / cpu_s, row.minor_faults
    has_many_faults = minor is not None and minor > FEW_FAULTS
    if share <= MAX_SYSTEM_SHARE or system_s < (TICK_S if has_many_faults else LEAST_SYSTEM_S):
        return []
    return [
        f"the kernel took {share:.0%} of its CPU time ({system_s * 1e3:.0f} ms); above "
        f"{MAX_SYSTEM_SHARE:.0%} the rate is not the engine's alone: {minor} page faults of fresh "
        f"memory, {row.major_faults} that waited for a disk, and threads that wait and wake"
    ]


def _rusage(scope: int) -> Usage:
    usage = resource.getrusage(scope)
    return Usage(
        user_s=usage.ru_utime,
        system_s=usage.ru_stime,
        minor_faults=usage.ru_minflt,
        major_faults=usage.ru_majflt,
    )


def _process_usage(pid: int) -> Usage:
    """Return the usage of a process and of descendants it has waited for; zero if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return Usage()  # The process has just ended; its parent's usage includes it.
    # proc(5): the name, in brackets, may contain anything; the fields after the name start with number 3.
    fields = stat.rpartition(")")[2].split()
    minor, waited_minor, major, waited_major, user, system, waited_user, waited_system = map(
        int, fields[7:15]
    )
    return Usage(
        user_s=(user + waited_user) / _TICKS_PER_S,
        system_s=(system + waited_system) / _TICKS_PER_S,
        minor_faults=minor + waited_minor,
        major_faults=major + waited_major,
    )
