"""Implements the threshold controller of STRETCH, section 8.4."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from streamlab.engines.multicore.oplus.elastic.decision import Decision
from streamlab.engines.multicore.oplus.elastic.observation import Observation

_ROUNDING = 1e-9
"""Loads within this distance of a whole number of instances count as that number."""


@dataclass(slots=True, kw_only=True)
class Thresholds:
    """Keeps the load of the active instances between a lower and an upper share of their time.

    Above `upper`, the controller adds the fewest instances that bring the average below `target`. Below `lower`, the
    controller removes the most instances that keep the average below `target`.

    The load D, in instances, is the sum of the busy shares of all instances. Overloaded instances are
    at most 100 % busy, so above `upper` the sum is multiplied by offered rate / processed rate. The
    paper's Table IV follows from its text only this way: 30 instances at 120 % become 52 in one step,
    the smallest n with 36 / n < 70 %.

    An observation that crosses a threshold may cover only a part of a change of load, so a decision from this
    observation would be too small. The observation therefore starts a measurement of `confirm_ms`, whose mean load
    decides. Shorter peaks have no effect.

    Table IV's numbers after removals are one below those of the text: 5, 9, 18, 30, 40, 60 and 70
    instances at 30/70 of the load, i.e. D / 0.7 = 2.1, 3.9, 7.7, 12.9, 17.1, 25.7 and 30, became 2,
    3, 7, 12, 17, 25 and 30, which leaves the average at or above the target. `removal` chooses between the two rules.

    Attributes:
        upper, target, lower: shares of an instance's time, 0 < lower < target <= upper <= 1.
        confirm_ms: time over which a load is measured before a decision; 0 means one observation.
        removal: number of instances after a removal. `text`: the smallest n with D / n < target.
            `table`: the largest n with D / n >= target, as in Table IV; for small n, D / n may then
            exceed `upper`.

    Raises:
        ValueError: the shares are not in that order.
    """

    upper: float = 0.90
    target: float = 0.70
    lower: float = 0.45
    confirm_ms: Annotated[float, Meta(ge=0)] = 300.0
    removal: Literal["text", "table"] = "text"
    _instances: int = field(default=0, init=False)
    _open: list[Observation] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if not 0 < self.lower < self.target <= self.upper <= 1:
            raise ValueError(
                f"lower, target, upper are {self.lower:g}, {self.target:g}, {self.upper:g}; "
                "expected 0 < lower < target <= upper <= 1"
            )

    def decide(self, observation: Observation) -> Decision | None:
        """Return the number of instances for a load that is outside the thresholds, or None."""
        if observation.instances != self._instances:
            self._instances, self._open = observation.instances, None
        if self._open is None:
            if not self._outside([observation]):
                return None
            if self.confirm_ms > 0:
                self._open = []
                return None
            return self._decide_for([observation])
        self._open.append(observation)
        if _total(self._open, lambda observed: 1) < self.confirm_ms / 1000 * (1 - _ROUNDING):
            return None
        measured, self._open = self._open, None
        return self._decide_for(measured) if self._outside(measured) else None

    def _outside(self, measured: Sequence[Observation]) -> bool:
        return not self.lower <= _busy(measured) / self._instances <= self.upper

    def _decide_for(self, measured: Sequence[Observation]) -> Decision | None:
        """Return the new number of instances for a load outside the thresholds; None to keep it."""
        demand = _busy(measured)
        mean = demand / self._instances
        if mean > self.upper:
            demand *= _excess(measured)
            instances = max(self._min_instances(demand), self._instances)
            crossed = f"above {self.upper:.0%}"
        else:
            instances = self._min_instances(demand)
            if self.removal == "table":
                instances = max(1, math.floor(demand / self.target + _ROUNDING))
            instances = min(instances, self._instances)
            crossed = f"below {self.lower:.0%}"
        if instances == self._instances:
            return None
        return Decision(
            instances=instances,
            why=f"load {demand / self._instances:.1%} of {self._instances} instances, {crossed}",
        )

    def _min_instances(self, demand: float) -> int:
        """Return the smallest n >= 1 with demand / n < target."""
        return math.floor(demand / self.target + _ROUNDING) + 1


def _total(measured: Sequence[Observation], rate: Callable[[Observation], float]) -> float:
    """Return the sum over observations of a rate times the observed seconds."""
    return sum(rate(observation) * observation.span_s for observation in measured)


def _busy(measured: Sequence[Observation]) -> float:
    """Return the sum of the busy shares of all instances, averaged over time."""
    return _total(measured, lambda observation: sum(observation.busy)) / _total(
        measured, lambda observation: 1
    )


def _excess(measured: Sequence[Observation]) -> float:
    """Return the ratio of offered to processed tuples, at least 1; 1 if nothing was processed."""
    offered = _total(
        measured, lambda observation: sum(observation.offered_eps or observation.processed_eps)
    )
    processed = _total(measured, lambda observation: sum(observation.processed_eps))
    return max(1.0, offered / processed) if processed > 0 else 1.0
