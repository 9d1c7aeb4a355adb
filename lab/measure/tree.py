"""The processes below this one, and what they have used, read from /proc through psutil."""

import os
import resource
from pathlib import Path

import psutil


def descendants(pid: int | None = None) -> list[psutil.Process]:
    """Return all live processes below `pid` (default: this one).

    Reads the `children` files that Linux keeps per thread, far cheaper than scanning every process
    of the machine; falls back to that scan where the kernel does not offer them. Processes whose
    parent has died belong to init and are not seen here.
    """
    root = os.getpid() if pid is None else pid
    found: list[psutil.Process] = []
    queue = [root]
    while queue:
        children = _children(queue.pop())
        if children is None:
            return psutil.Process(root).children(recursive=True)
        for child in children:
            try:
                found.append(psutil.Process(child))
            except psutil.NoSuchProcess:
                continue
            queue.append(child)
    return found


def _children(pid: int) -> list[int] | None:
    """Return the children of a process; None where the kernel keeps no such list."""
    children: list[int] = []
    tasks = Path(f"/proc/{pid}/task")
    try:
        threads = list(tasks.iterdir())
    except OSError:
        return []
    for index, thread in enumerate(threads):
        try:
            children += [int(word) for word in (thread / "children").read_text().split()]
        except FileNotFoundError:
            if index == 0 and thread.exists():
                return None
        except OSError:
            continue  # The thread has just ended.
    return children


def cpu_seconds(processes: list[psutil.Process]) -> float:
    """Return the user and system time of this process and its descendants, ended ones included.

    Ended processes are counted through their parents, which have waited for them. What a process
    used that lost its parent before it ended is not counted. This process is read to the
    microsecond, others to the kernel's tick (10 ms).
    """
    own = resource.getrusage(resource.RUSAGE_SELF)
    waited = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = own.ru_utime + own.ru_stime + waited.ru_utime + waited.ru_stime
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue  # It has just ended: its parent's waited time has it.
        total += times.user + times.system + times.children_user + times.children_system
    return total


def rss_bytes(processes: list[psutil.Process]) -> int:
    """Return the resident memory of this process and the given ones.

    Pages that processes share are counted for each of them, so the sum errs on the high side.
    """
    total = psutil.Process().memory_info().rss
    for process in processes:
        try:
            total += process.memory_info().rss
        except psutil.Error:
            continue
    return int(total)
