"""Lists the processes below a process, and reads their memory."""

import os
from contextlib import suppress
from pathlib import Path

import psutil


def descendants(pid: int | None = None) -> list[psutil.Process]:
    """Return all live descendants of `pid` (default: this process), without orphans.

    Reads the `children` files that Linux keeps per thread.
    If the kernel lacks them, scans all processes, which is far more expensive.
    """
    root = os.getpid() if pid is None else pid
    processes: list[psutil.Process] = []
    queue = [root]
    while queue:
        children = _children(queue.pop())
        if children is None:
            return psutil.Process(root).children(recursive=True)
        for child in children:
            with suppress(psutil.NoSuchProcess):
                processes.append(psutil.Process(child))
                queue.append(child)
    return processes


def _children(pid: int) -> list[int] | None:
    """Return the children of a process; None if the kernel keeps no such list."""
    children: list[int] = []
    tasks = Path(f"/proc/{pid}/task")
    try:
        threads = list(tasks.iterdir())
    except OSError:
        return []
    for index, thread in enumerate(threads):
        try:
            children += [
                int(word) for word in (thread / "children").read_text(encoding="ascii").split()
            ]
        except FileNotFoundError:
            if index == 0 and thread.exists():
                return None
        except OSError:
            continue  # The thread has just ended.
    return children


def rss_bytes(processes: list[psutil.Process]) -> int:
    """Return the resident memory of this process and of `processes`.

    Shared pages count for each process, so the sum may be too high.
    """
    total = 0
    for process in (psutil.Process(), *processes):
        with suppress(psutil.Error):  # it has just ended
            total += process.memory_info().rss
    return total
