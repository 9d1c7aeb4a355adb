"""Limits how much memory a run may touch before its clock starts."""

from streamlab.workloads.control_group import available_bytes

RESERVED_FRACTION = 1 / 4
"""The share of the available memory that may be touched; input, sorted answer and oracle need the rest."""


def most_reserved_bytes() -> int:
    """Return how many bytes may be touched before the clock starts, given the memory available now."""
    return int(available_bytes() * RESERVED_FRACTION)
