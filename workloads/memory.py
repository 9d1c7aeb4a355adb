"""Measures how much memory this process may still use, and may touch before the clock of a run starts."""

import psutil

from streamlab.workloads import control_group

RESERVED_FRACTION = 1 / 4
"""The share of the available memory that may be touched; input, sorted answer and oracle need the rest."""


def available_bytes() -> int:
    """Return the machine's available memory, or the rest of this process's limit if less, in bytes."""
    machine = int(psutil.virtual_memory().available)
    left = control_group.memory_left_bytes(control_group.read_text)
    return machine if left is None else min(machine, left)


def most_reserved_bytes() -> int:
    """Return how many bytes may be touched before the clock starts, given the memory available now."""
    return int(available_bytes() * RESERVED_FRACTION)
