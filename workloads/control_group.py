"""Reads the CPU and memory limits that control groups (version 1 or 2) set for this process.

A group and every group above it can set limits. The tightest limit counts. A container does not see the groups above
its mount.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

Read = Callable[[str], str | None]
"""Returns the content of a file, or None if it cannot be read."""

RESERVED_FRACTION = 1 / 4
"""Share of the available memory that may be touched before a run's clock starts.

The input, the sorted answer and the oracle need the rest.
"""


def read_text(path: str) -> str | None:
    """Return the content of a file of this machine, or None if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None


def available_bytes() -> int:
    """Return the machine's available memory in bytes, but no more than what is left of this process's limit."""
    machine_bytes = int(psutil.virtual_memory().available)
    left_bytes = memory_left_bytes(read_text)
    return machine_bytes if left_bytes is None else min(machine_bytes, left_bytes)


def most_reserved_bytes() -> int:
    """Return the number of bytes that may be touched before the clock of a run starts."""
    return int(available_bytes() * RESERVED_FRACTION)


def cpu_quota(read: Read) -> float | None:
    """Return the CPU quota in cores, or None if unlimited."""
    quotas: list[float] = []
    for version, folder in _folders(read, "cpu"):
        if version == 2:
            text = read(f"{folder}/cpu.max")
        else:
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            text = " ".join(read(f"{folder}/{name}") or "" for name in names)
        quota = parse_quota(text)
        if quota is not None:
            quotas.append(quota)
    return min(quotas, default=None)


def parse_quota(text: str | None) -> float | None:
    """Return the quota in cores of a cpu.max text, which has quota and period in microseconds.

    None if there is no limit: `max` (version 2), -1 (version 1), or no text.
    """
    words = (text or "").split()
    if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[1]) == 0:
        return None
    return int(words[0]) / int(words[1])


def usable_cores(read: Read, affinity: int) -> float:
    """Return the number of cores that this process can use: its affinity, limited by its quota."""
    quota = cpu_quota(read)
    return affinity if quota is None else min(affinity, quota)


def usable_cores_here() -> float:
    """Return the number of cores of this machine that this process can use."""
    return usable_cores(read_text, len(os.sched_getaffinity(0)))


def memory_bytes(read: Read) -> int | None:
    """Return the memory limit in bytes, or None if unlimited."""
    return min((limit for _, _, limit in _memory_limits(read)), default=None)


def memory_left_bytes(read: Read) -> int | None:
    """Return the unused part of the memory limit in bytes, or None if unlimited.

    The kernel counts cached pages of files as used. Here they are unused, because the kernel can evict them.
    """
    left_bytes: list[int] = []
    for version, folder, limit in _memory_limits(read):
        usage = "memory.current" if version == 2 else "memory.usage_in_bytes"
        used_bytes = _number(read(f"{folder}/{usage}"))
        lines = (read(f"{folder}/memory.stat") or "").splitlines()
        stat = dict(line.split(" ", 1) for line in lines if " " in line)
        prefix = "" if version == 2 else "total_"  # includes the groups below
        cached = sum(
            _number(stat.get(f"{prefix}{name}_file")) or 0 for name in ("active", "inactive")
        )
        if used_bytes is not None:
            left_bytes.append(max(0, limit - used_bytes + cached))
    return min(left_bytes, default=None)


_NO_LIMIT_BYTES = 1 << 61
"""A higher value means no limit. Version 1 writes no limit as the largest multiple of a page below 2^63."""


def _memory_limits(read: Read) -> Iterator[tuple[int, str, int]]:
    """Yield (version, folder, bytes) of every group that has a limit.

    memory.high is a limit too: above it the kernel throttles the group until it has released memory.
    """
    for version, folder in _folders(read, "memory"):
        names = ("memory.max", "memory.high") if version == 2 else ("memory.limit_in_bytes",)
        for name in names:
            limit = _number(read(f"{folder}/{name}"))
            if limit is not None and limit < _NO_LIMIT_BYTES:
                yield version, folder, limit


def _number(text: str | None) -> int | None:
    digits = (text or "").strip()
    return int(digits) if digits.isdigit() else None


def _folders(read: Read, controller: str) -> Iterator[tuple[int, str]]:
    """Yield (version, folder) of this process's group and of every visible group above it."""
    mounts = list(_mounts(read))
    for line in (read("/proc/self/cgroup") or "").splitlines():
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        version = 1 if controllers else 2
        if version == 1 and controller not in controllers.split(","):
            continue
        for kind, mounted, root, place in mounts:
            if kind == version and (version == 2 or controller in mounted):
                yield from ((version, folder) for folder in _upwards(group, root, place))


def _upwards(group: str, root: str, place: str) -> Iterator[str]:
    """Yield the folders of a group and of the groups above it, in a hierarchy mounted at `place`.

    The mount shows the group `root` as its top. If `root` is not above the group, the path comes from a container's
    host, and the mount's top is the container's own group.
    """
    names, root_names = _split_path(group), _split_path(root)
    is_below = names[: len(root_names)] == root_names
    names_below = names[len(root_names) :] if is_below else []
    for depth in range(len(names_below), -1, -1):
        yield "/".join([place, *names_below[:depth]])


def _split_path(group: str) -> list[str]:
    return [name for name in group.split("/") if name]


_OCTAL = re.compile(r"\\([0-7]{3})")


def _mounts(read: Read) -> Iterator[tuple[int, tuple[str, ...], str, str]]:
    """Yield (version, controllers, root, mount point) of every mounted hierarchy.

    Without /proc/self/mountinfo, assume the mounts of systemd and container engines.
    """
    text = read("/proc/self/mountinfo")
    for line in (text or "").splitlines():
        mount, _, source = line.partition(" - ")
        words, (kind, _, options) = mount.split(), (*source.split(), "", "", "")[:3]
        if len(words) < 5 or kind not in ("cgroup", "cgroup2"):
            continue
        # The kernel writes blanks in paths as octal numbers.
        root, place = (_OCTAL.sub(lambda code: chr(int(code[1], 8)), word) for word in words[3:5])
        version = 1 if kind == "cgroup" else 2
        yield version, tuple(options.split(",")), root, place
    if text:
        return
    yield from ((2, (), "/", f"/sys/fs/cgroup{below}") for below in ("", "/unified"))
    for line in (read("/proc/self/cgroup") or "").splitlines():
        joined = (*line.split(":", 2), "", "")[1]
        controllers = tuple(filter(None, joined.split(",")))
        for folder in {joined, *controllers} - {""}:
            yield 1, controllers, "/", f"/sys/fs/cgroup/{folder}"
