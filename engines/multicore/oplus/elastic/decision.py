"""What a controller decides."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A wanted number of instances.

    Attributes:
        instances: how many; the mapping of buckets is made from it (`balanced_mapping`).
        why: in words, with the figures.
    """

    instances: int
    why: str
