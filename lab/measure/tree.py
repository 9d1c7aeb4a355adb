"""The processes below this one, and their memory, read from /proc through psutil."""

import os
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
