"""Measures how much memory this process may still use."""

import psutil

from streamlab.workloads import control_group


def available_bytes() -> int:
    """Return the machine's available memory, or the rest of this process's limit if less, in bytes."""
    machine = int(psutil.virtual_memory().available)
    left = control_group.memory_left_bytes(control_group.read_text)
    return machine if left is None else min(machine, left)
