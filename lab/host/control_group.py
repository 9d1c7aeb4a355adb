"""The limits that control groups, version 1 or 2, put on this process."""

from collections.abc import Iterator

from lab.host.machine import Machine


def cores(machine: Machine) -> float | None:
    """Return the CPU quota in cores, or None when there is none."""
    quotas: list[float] = []
    for version, folder in _folders(machine, "cpu"):
        if version == 2:
            words = (machine.text(f"{folder}/cpu.max") or "").split()
        else:
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            words = [machine.text(f"{folder}/{name}") or "" for name in names]
        # "max" (version 2), "-1" (version 1) and absent files do not limit.
        if len(words) == 2 and all(word.isdigit() for word in words) and int(words[1]) > 0:
            quotas.append(int(words[0]) / int(words[1]))
    return min(quotas, default=None)


def memory_bytes(machine: Machine) -> int | None:
    """Return the memory limit in bytes, or None when there is none."""
    limits: list[int] = []
    for version, folder in _folders(machine, "memory"):
        name = "memory.max" if version == 2 else "memory.limit_in_bytes"
        text = machine.text(f"{folder}/{name}") or ""
        if text.isdigit():
            limits.append(int(text))
    return min(limits, default=None)


def _folders(machine: Machine, controller: str) -> Iterator[tuple[int, str]]:
    """Yield (version, folder) of this process's group and of every group above it; each limits.

    Inside a container the path in `/proc/self/cgroup` may lie outside of what is mounted; the
    mount's own root is among the folders, so the container's limit is seen nevertheless.
    """
    for line in (machine.text("/proc/self/cgroup") or "").splitlines():
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        names = [name for name in group.split("/") if name]
        for depth in range(len(names), -1, -1):
            below = "/".join(names[:depth])
            if controllers == "":
                yield 2, f"/sys/fs/cgroup/{below}".rstrip("/")
            elif controller in controllers.split(","):
                yield 1, f"/sys/fs/cgroup/{controller}/{below}".rstrip("/")
