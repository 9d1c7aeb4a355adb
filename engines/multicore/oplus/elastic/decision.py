"""Defines controllers and their decisions. A controller decides which instances an elastic operator has.

STRETCH leaves the policy to external modules (section 2.5); this is their interface.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from streamlab.engines.multicore.oplus.elastic.mapping import Instances, IntArray
from streamlab.engines.multicore.oplus.elastic.observation import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A controller's request: O* and f_mu* of STRETCH's reconfigure(O*, f_mu*).

    Attributes:
        instances: indices of the instances, in any order; a number n means the first n.
        why: reason as text, with numbers.
        mapping: for each bucket, the index of its instance, one of `instances`. The mapping may also move buckets
            between active instances. None uses `balanced_mapping` if the instances change.
    """

    instances: Instances
    why: str
    mapping: Sequence[int] | IntArray | None = field(default=None, compare=False)


class Controller(Protocol):
    """Decides about one operator during one run; may keep state."""

    def decide(self, observation: Observation) -> Decision | None:
        """Return the instances that the operator should have, or None to keep them.

        The loop calls this at every observation except the first after a change. The loop limits a number of instances
        to the bounds, and refuses a set or a mapping beyond the bounds. An exception ends the run with that error.
        """


@runtime_checkable
class StartController(Controller, Protocol):
    """A controller that also decides about f_mu at the start of a run."""

    def map_start(self, buckets: int, instances: int) -> Sequence[int] | IntArray:
        """Return the instance of each bucket of the first operator, from 0 to `instances` - 1."""
