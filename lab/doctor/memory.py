"""Probes the memory of the machine and the limit of a control group."""

from streamlab.lab.doctor.finding import Finding, ok, warn
from streamlab.lab.host.machine import Machine
from streamlab.workloads import control_group

# Enough for Spark's driver, its Python workers and a dataset of 40 M events, at 16 bytes each.
REQUIRED_BYTES = 4 << 30
_GIB = float(1 << 30)


def memory(machine: Machine) -> Finding:
    """Report total and available memory, within the control group's limit."""
    fields: dict[str, int] = {}
    for line in (machine.text("/proc/meminfo") or "").splitlines():
        words = line.replace(":", " ").split()
        if len(words) >= 2 and words[1].isdigit():
            fields[words[0]] = int(words[1]) * 1024
    if "MemTotal" not in fields:
        return warn("not visible: no /proc/meminfo", "mount /proc")
    total = fields["MemTotal"]
    available = fields.get("MemAvailable", fields.get("MemFree", total))
    seen = f"{total / _GIB:.1f} GiB, {available / _GIB:.1f} GiB available"
    limit = control_group.memory_bytes(machine.text)
    if limit is not None and limit < total:
        seen += f", limited to {limit / _GIB:.1f} GiB by a control group"
        left = control_group.memory_left_bytes(machine.text)
        available = min(available, limit if left is None else left)
    if available < REQUIRED_BYTES:
        return warn(
            seen,
            f"free {REQUIRED_BYTES / _GIB:.0f} GiB, or run fewer events (`events` in the matrix)",
        )
    return ok(seen)
