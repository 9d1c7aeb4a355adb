"""What a tree of processes has used of the processor and of fresh memory."""

import os
import resource
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

MOST_SYSTEM_SHARE = 0.2
"""Of the CPU time of a timed part: above it, its rate says as much of the kernel as of the engine.
Runs that had to clear their memory first showed 0.6 to 0.9, those that had it 0.0 to 0.15."""
LEAST_SYSTEM_S = 0.02
"""Five ticks of the kernel's clock, by which it splits CPU time into user and system. Below, the
split is chance: it showed 0.0 to 0.7 of 13 ms in which always the same was done."""
TICK_S = 0.004
FEW_FAULTS = 64
"""Of code that is run for the first time; so the split of a shorter run is believed, from a tick
on, when there were more. Runs that found their memory there had 11 to 57, others 77 to 24,000."""

MOST_CORES_PER_WORKER = 1.1
PROCESS_TICK_S = 0.01
"""The kernel counts the CPU time of other processes in these steps."""

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Sums over processes, since each of them began, or between two looks.

    Attributes:
        user_s, system_s: CPU time. The kernel splits by its ticks, some ms, where it does not
            account each switch; their sum is exact.
        minor_faults: page faults that needed no disk: memory that is touched for the first time, a
            page of 4 KiB or of 2 MiB, and code that is run for the first time.
        major_faults: those that waited for a disk.
    """

    user_s: float = 0.0
    system_s: float = 0.0
    minor_faults: int = 0
    major_faults: int = 0

    @property
    def cpu_s(self) -> float:
        """User and system time."""
        return self.user_s + self.system_s

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            user_s=self.user_s + other.user_s,
            system_s=self.system_s + other.system_s,
            minor_faults=self.minor_faults + other.minor_faults,
            major_faults=self.major_faults + other.major_faults,
        )

    def cpu_s_since(self, before: "Usage") -> float:
        """Return the CPU time since an earlier look; never negative."""
        return max(0.0, self.cpu_s - before.cpu_s)

    def columns_since(self, before: "Usage") -> dict[str, float | int]:
        """Return what was used since an earlier look, as columns of a trial; none is negative."""
        return {
            "cpu_s": self.cpu_s_since(before),
            "user_s": max(0.0, self.user_s - before.user_s),
            "system_s": max(0.0, self.system_s - before.system_s),
            "minor_faults": max(0, self.minor_faults - before.minor_faults),
            "major_faults": max(0, self.major_faults - before.major_faults),
        }


def used(processes: Iterable[psutil.Process]) -> Usage:
    """Return what this process and the given ones have used, ended descendants included.

    Ended processes are counted through their parents, which have waited for them. What a process
    used that lost its parent before it ended is not counted. This process is read to the
    microsecond, others to the kernel's tick (10 ms).
    """
    return used_here() + used_by(processes)


def used_here() -> Usage:
    """Return what this process and the children that it has waited for have used; takes 1 us."""
    return _own(resource.RUSAGE_SELF) + _own(resource.RUSAGE_CHILDREN)


def used_by(processes: Iterable[psutil.Process]) -> Usage:
    """Return what other processes have used, read from /proc: some 100 us of CPU time each."""
    return sum((_of(process.pid) for process in processes), Usage())


def core_warnings(row: Mapping[str, object]) -> list[str]:
    """Return a warning when a trial used more cores than it has workers.

    Its rate is then not the rate of its workers: further threads (a compiler, a garbage collector,
    a source) worked for it. The slack is a tenth of the workers and two ticks of the kernel's
    clock.

    Args:
        row: the trial's columns; a trial that did not run lacks them.
    """
    cpu_s, duration_s, workers = (row.get(name) for name in ("cpu_s", "duration_s", "workers"))
    if not (isinstance(cpu_s, float) and isinstance(duration_s, float) and duration_s > 0):
        return []
    assert isinstance(workers, int), "every trial has workers"
    if cpu_s <= MOST_CORES_PER_WORKER * workers * duration_s + 2 * PROCESS_TICK_S:
        return []
    used = f"{cpu_s / duration_s:.1f} cores"
    return [
        f"it used {used} with {workers} {'worker' if workers == 1 else 'workers'}: compare its CPU "
        "time for an event, not its rate for a worker"
    ]


def kernel_warnings(row: Mapping[str, object]) -> list[str]:
    """Return what is doubtful about a trial because the kernel worked in its timed part, in words.

    Args:
        row: the trial's columns; those of a trial that did not run are missing.
    """
    cpu_s, system_s = row.get("cpu_s"), row.get("system_s")
    if not isinstance(cpu_s, float) or not isinstance(system_s, float) or cpu_s <= 0:
        return []
    share, minor = system_s / cpu_s, row.get("minor_faults")
    many = isinstance(minor, int) and minor > FEW_FAULTS
    if share <= MOST_SYSTEM_SHARE or system_s < (TICK_S if many else LEAST_SYSTEM_S):
        return []
    return [
        f"of its CPU time {share:.0%} was the kernel's ({system_s * 1e3:.0f} ms); above "
        f"{MOST_SYSTEM_SHARE:.0%} the rate is not the engine's alone: {minor} "
        f"page faults of fresh memory, {row.get('major_faults')} that waited for a disk, and "
        "threads that wait and wake"
    ]


def _own(who: int) -> Usage:
    usage = resource.getrusage(who)
    return Usage(
        user_s=usage.ru_utime,
        system_s=usage.ru_stime,
        minor_faults=usage.ru_minflt,
        major_faults=usage.ru_majflt,
    )


def _of(pid: int) -> Usage:
    """Read a process and the descendants that it has waited for; nothing where it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return Usage()  # It has just ended: its parent's waited time has it.
    # proc(5): the name, in brackets, may hold anything; the fields behind it are numbered from 3.
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
