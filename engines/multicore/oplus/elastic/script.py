"""Implements the controller `script`, which sets the instances at fixed times."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated

from msgspec import Meta

from streamlab.engines.multicore.oplus.elastic.decision import Decision
from streamlab.engines.multicore.oplus.elastic.mapping import instance_set
from streamlab.engines.multicore.oplus.elastic.observation import Observation
from streamlab.engines.multicore.run.settings import Positive

Index = Annotated[int, Meta(ge=0)]
Step = tuple[Annotated[float, Meta(ge=0)], Positive | list[Index]]


@dataclass(slots=True, kw_only=True)
class Script:
    """Follows a script, whatever the load.

    If several steps are due at an observation, the last one counts. A step takes effect once, so later
    changes by other means stay.

    Attributes:
        steps: `[(t_s, instances), ...]`: seconds after the start of the timed part, ascending, and a number n for the
            first n instances, or a list of indices.

    Raises:
        ValueError: times do not ascend, or a list is empty or repeats an index.
    """

    steps: Annotated[list[Step], Meta(min_length=1)]
    _next: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        for (before, _), (after, _) in pairwise(self.steps):
            if after <= before:
                raise ValueError(
                    f"steps: {after:g} s comes after {before:g} s; give the steps in ascending "
                    "order of their times"
                )
        for time_s, instances in self.steps:
            try:
                instance_set(instances)
            except ValueError as error:
                raise ValueError(f"steps: at {time_s:g} s, {error}") from None

    def max_index(self) -> int:
        """Return the largest index that a step names; -1 if no step names instances."""
        named = (instances for _, instances in self.steps if isinstance(instances, list))
        return max((max(instances) for instances in named), default=-1)

    def decide(self, observation: Observation) -> Decision | None:
        """Return the latest step that has become due since the last observation."""
        decision = None
        while self._next < len(self.steps) and self.steps[self._next][0] <= observation.time_s:
            time_s, instances = self.steps[self._next]
            decision = Decision(instances=instances, why=f"the script's step at {time_s:g} s")
            self._next += 1
        return decision
