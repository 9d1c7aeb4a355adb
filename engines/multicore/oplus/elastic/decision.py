"""Defines the decision of a controller."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A number of instances that a controller requests.

    Attributes:
        instances: number of instances; `balanced_mapping` derives the mapping of buckets from it.
        why: reason as text, with numbers.
    """

    instances: int
    why: str
