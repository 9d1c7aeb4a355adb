"""The limits that control groups, version 1 or 2, put on this process."""

from collections.abc import Callable, Iterator
from pathlib import Path

Read = Callable[[str], str | None]
"""Returns what is in a file of the machine; None where it cannot be read."""


def read_text(path: str) -> str | None:
    """Return what is in a file of this machine; None where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None


def cores(read: Read) -> float | None:
    """Return the CPU quota in cores, or None when there is none."""
    quotas: list[float] = []
    for version, folder in _folders(read, "cpu"):
        if version == 2:
            words = (read(f"{folder}/cpu.max") or "").split()
        else:
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            words = [read(f"{folder}/{name}") or "" for name in names]
        # "max" (version 2), "-1" (version 1) and absent files do not limit.
        if len(words) == 2 and all(word.isdigit() for word in words) and int(words[1]) > 0:
            quotas.append(int(words[0]) / int(words[1]))
    return min(quotas, default=None)


def memory_bytes(read: Read) -> int | None:
    """Return the memory limit in bytes, or None when there is none."""
    return min((limit for _, _, limit in _memory_limits(read)), default=None)


def memory_left_bytes(read: Read) -> int | None:
    """Return what is left of the memory limit in bytes, or None when there is none.

    Pages of files count as used by the group, and are left aside here: they give way.
    """
    left: list[int] = []
    for version, folder, limit in _memory_limits(read):
        usage = "memory.current" if version == 2 else "memory.usage_in_bytes"
        used = _number(read(f"{folder}/{usage}"))
        lines = (read(f"{folder}/memory.stat") or "").splitlines()
        stat = dict(line.split(" ", 1) for line in lines if " " in line)
        total = "" if version == 2 else "total_"  # with the groups below
        files = sum(
            _number(stat.get(f"{total}{name}_file")) or 0 for name in ("active", "inactive")
        )
        if used is not None:
            left.append(max(0, limit - used + files))
    return min(left, default=None)


def _memory_limits(read: Read) -> Iterator[tuple[int, str, int]]:
    """Yield (version, folder, bytes) of every group that has a limit."""
    for version, folder in _folders(read, "memory"):
        name = "memory.max" if version == 2 else "memory.limit_in_bytes"
        limit = _number(read(f"{folder}/{name}"))
        if limit is not None:
            yield version, folder, limit


def _number(text: str | None) -> int | None:
    found = (text or "").strip()
    return int(found) if found.isdigit() else None


def _folders(read: Read, controller: str) -> Iterator[tuple[int, str]]:
    """Yield (version, folder) of this process's group and of every group above it; each limits.

    Inside a container the path in `/proc/self/cgroup` may lie outside of what is mounted; the
    mount's own root is among the folders, so the container's limit is seen nevertheless.
    """
    for line in (read("/proc/self/cgroup") or "").splitlines():
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        names = [name for name in group.split("/") if name]
        for depth in range(len(names), -1, -1):
            below = "/".join(names[:depth])
            if controllers == "":
                yield 2, f"/sys/fs/cgroup/{below}".rstrip("/")
            elif controller in controllers.split(","):
                yield 1, f"/sys/fs/cgroup/{controller}/{below}".rstrip("/")
