"""Samples memory and CPU time of the process tree while an engine works."""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from streamlab.lab.measure.tree import descendants, rss_bytes
from streamlab.lab.measure.usage import Usage, tree_usage, usage_of

PERIOD_S = 0.1
# A scan for new processes costs more than reading known processes; five scans per second suffice.
SAMPLES_PER_SCAN = 2


class ResourceSampler:
    """A thread that samples every 100 ms; use as a context manager.

    Samples lie on a grid: a late sample does not delay the next one, and a sample that is a period late is skipped.
    `peak_rss_bytes` is the largest sampled sum, or this process's own peak in the kernel's record if larger.
    If another process peaks for less than the period, the peak is lost.
    """

    def __init__(self, ignore: frozenset[int] = frozenset()) -> None:
        """Prepare to sample; `ignore` has ids of processes to leave out."""
        self._ignore = ignore
        self.times_ns: list[int] = []
        self.rss: list[int] = []
        self.cpu_s: list[float] = []
        self.peak_rss_bytes = 0
        self._roots: tuple[int, ...] = ()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lab-sampler", daemon=True)

    def __enter__(self) -> "ResourceSampler":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take a last sample and end the thread. May be called twice."""
        if self._stop.is_set():
            return
        self._stop.set()
        self._thread.join()
        self._sample(self.other_processes())
        self.peak_rss_bytes = max(self.peak_rss_bytes, _own_peak_bytes())

    def peak_so_far_bytes(self) -> int:
        """Return the largest sum until now, including this moment, or this process's own peak if larger."""
        return max(self.peak_rss_bytes, _own_peak_bytes(), rss_bytes(self.other_processes()))

    def _run(self) -> None:
        processes: list[psutil.Process] = []
        count = 0
        begin = time.monotonic()
        while not self._stop.is_set():
            if count % SAMPLES_PER_SCAN == 0:
                processes = self.other_processes()
            count += 1
            self._sample(processes)
            self._stop.wait(PERIOD_S - (time.monotonic() - begin) % PERIOD_S)

    def add_roots(self, pids: Sequence[int]) -> Usage:
        """Measure the process trees of `pids` as well, and return their usage so far."""
        self._roots = tuple(pids)
        return usage_of(self._processes_of_roots())

    def other_processes(self) -> list[psutil.Process]:
        """Return the measured processes other than this one."""
        children = [process for process in descendants() if process.pid not in self._ignore]
        return children + self._processes_of_roots()

    def _processes_of_roots(self) -> list[psutil.Process]:
        processes = []
        for root in self._roots:
            with suppress(psutil.NoSuchProcess):
                processes += [psutil.Process(root), *descendants(root)]
        return processes

    def _sample(self, processes: list[psutil.Process]) -> None:
        rss = rss_bytes(processes)
        self.times_ns.append(time.monotonic_ns())
        self.rss.append(rss)
        self.cpu_s.append(tree_usage(processes).cpu_s)
        self.peak_rss_bytes = max(self.peak_rss_bytes, rss)


def _own_peak_bytes() -> int:
    # VmHWM belongs to this program image; ru_maxrss would also remember the process before exec.
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
