"""Implements the controller `script`, which sets numbers of instances at fixed times."""

import math
from collections.abc import Sequence

from streamlab.engines.multicore.oplus.elastic.decision import Decision
from streamlab.engines.multicore.oplus.elastic.observation import Observation


class Script:
    """Follows a script, whatever the load.

    If several steps are due at an observation, the last one counts. A step takes effect once, so later
    changes by other means stay.

    Args:
        steps: `[(t_s, instances), ...]`: seconds after the start of the timed part, ascending, and
            numbers of instances.

    Raises:
        ValueError: there is no step, a step is not such a pair, or times do not ascend.
    """

    def __init__(self, *, steps: Sequence[Sequence[float]]) -> None:
        if not isinstance(steps, list | tuple) or not steps:
            raise ValueError(f"steps is {steps!r}; expected a list, e.g. [[1.0, 2], [2.5, 1]]")
        self._steps = [_step(number, step) for number, step in enumerate(steps, 1)]
        for (before, _), (after, _) in zip(self._steps, self._steps[1:], strict=False):
            if after <= before:
                raise ValueError(
                    f"steps: {after:g} s comes after {before:g} s; give the steps in ascending "
                    "order of their times"
                )
        self._next = 0

    def decide(self, observation: Observation) -> Decision | None:
        """Return the latest step that has become due since the last observation."""
        decision = None
        while self._next < len(self._steps) and self._steps[self._next][0] <= observation.time_s:
            time_s, instances = self._steps[self._next]
            decision = Decision(instances=instances, why=f"the script's step at {time_s:g} s")
            self._next += 1
        return decision


def _step(number: int, step: object) -> tuple[float, int]:
    if isinstance(step, list | tuple) and len(step) == 2:
        time_s, instances = step
        if (
            isinstance(time_s, int | float)
            and not isinstance(time_s, bool)
            and 0 <= time_s < math.inf
            and type(instances) is int
            and instances >= 1
        ):
            return float(time_s), instances
    raise ValueError(
        f"steps: step {number} is {step!r}; expected [seconds, instances]: the time since the start "
        "of the run, and a whole number of at least 1"
    )
