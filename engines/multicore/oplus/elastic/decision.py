"""Defines controllers, which decide how many instances an elastic operator has, and their decisions.

STRETCH leaves the policy to external modules (section 2.5); this is their interface.
"""

from dataclasses import dataclass
from typing import Protocol

from streamlab.engines.multicore.oplus.elastic.observation import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A number of instances that a controller requests.

    Attributes:
        instances: number of instances; `balanced_mapping` derives the mapping of buckets from it.
        why: reason as text, with numbers.
    """

    instances: int
    why: str


class Controller(Protocol):
    """Decides about one operator during one run; may keep state."""

    def decide(self, observation: Observation) -> Decision | None:
        """Return the number of instances that the operator should have, or None to keep it.

        The loop calls this at every observation except the first after a change, and limits the
        number to the bounds. An exception ends the run with that error.
        """
