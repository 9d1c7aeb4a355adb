"""How much memory a run may touch before its clock starts."""

from streamlab.workloads.memory import available_bytes

MOST_SHARE = 4
"""No more than one part in so many of the memory that is available: the input, the answer in order
and the oracle's need room as well."""


def most_reserved_bytes() -> int:
    """Return how many bytes may be touched beforehand, by the memory that is available now."""
    return available_bytes() // MOST_SHARE
