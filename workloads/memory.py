"""How much memory a process may still take."""

import psutil

from streamlab.workloads import control_group


def available_bytes() -> int:
    """Return what the machine has, or what is left of this process's limit if that is less."""
    machine = int(psutil.virtual_memory().available)
    left = control_group.memory_left_bytes(control_group.read_text)
    return machine if left is None else min(machine, left)
