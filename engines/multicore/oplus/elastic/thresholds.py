"""The threshold controller of STRETCH, section 8.4."""

import math

from streamlab.engines.multicore.oplus.elastic.decision import Decision
from streamlab.engines.multicore.oplus.elastic.observation import Observation

TEXT = "text"
TABLE = "table"
_ROUNDING = 1e-9
"""A load that misses a whole number of instances by less is meant to be that number."""


class Thresholds:
    """Keeps the load of the active instances between a lower and an upper share of their time.

    Above `upper`, instances are added: the fewest that bring the average below `target`. Below
    `lower`, instances are removed: the most that keep it below `target`.

    The load D of all instances together, in instances, is the sum of their busy shares. Instances
    that are too few are never busier than 100 %, so above `upper` the sum counts times offered rate
    by processed rate: only so does the paper's Table IV follow from its text (30 instances, of
    which 120 % is asked, become 52 in one step: the fewest n with 36 / n < 70 %).

    A look that finds a threshold crossed may have caught the change in the middle, and would then
    order too little. It opens a measurement of `confirm_ms`, and the decision is made by the mean
    load of that. A peak that is shorter is therefore not followed.

    Table IV's numbers after removing are one below those that the text gives: 5, 9, 18, 30, 40, 60
    and 70 instances at 30/70 of the load, i.e. D / 0.7 = 2.1, 3.9, 7.7, 12.9, 17.1, 25.7 and 30,
    became 2, 3, 7, 12, 17, 25 and 30, which leaves the average at or above the target. `removal`
    chooses between the two.

    Args:
        upper, target, lower: shares of an instance's time, 0 < lower < target <= upper <= 1.
        confirm_ms: how long a load is measured before it is acted on; 0: one look.
        removal: `text`: the fewest n with D / n < target stay. `table`: the most n with D / n >=
            target, as in Table IV; D / n may then be above `upper` where n is small.

    Raises:
        ValueError: the shares are not in that order, or another value is out of range.
    """

    def __init__(
        self,
        *,
        upper: float = 0.90,
        target: float = 0.70,
        lower: float = 0.45,
        confirm_ms: float = 300.0,
        removal: str = TEXT,
    ) -> None:
        if not 0 < lower < target <= upper <= 1:
            raise ValueError(
                f"lower, target, upper are {lower:g}, {target:g}, {upper:g}; "
                "expected 0 < lower < target <= upper <= 1"
            )
        if confirm_ms < 0:
            raise ValueError(f"confirm_ms is {confirm_ms:g}; expected at least 0")
        if removal not in (TEXT, TABLE):
            raise ValueError(f"removal is {removal!r}; expected {TEXT} or {TABLE}")
        self._upper = upper
        self._target = target
        self._lower = lower
        self._confirm_s = confirm_ms / 1000
        self._removal = removal
        self._instances = 0
        self._open: _Measurement | None = None

    def decide(self, seen: Observation) -> Decision | None:
        """Return how many instances the load needs, when it is beyond a threshold."""
        if seen.instances != self._instances:
            self._instances, self._open = seen.instances, None
        if self._open is None:
            look = _Measurement()
            look.add(seen)
            if not self._beyond(look):
                return None
            if self._confirm_s > 0:
                self._open = _Measurement()
                return None
            return self._ordered(look)
        self._open.add(seen)
        if self._open.span_s < self._confirm_s * (1 - _ROUNDING):
            return None
        measured, self._open = self._open, None
        return self._ordered(measured) if self._beyond(measured) else None

    def _beyond(self, measured: "_Measurement") -> bool:
        return not self._lower <= measured.busy / self._instances <= self._upper

    def _ordered(self, measured: "_Measurement") -> Decision | None:
        """Return the number of instances for a load that is beyond a threshold."""
        mean = measured.busy / self._instances
        if mean > self._upper:
            demand = measured.busy * measured.excess
            wanted = max(self._fewest(demand), self._instances)
            crossed = f"above {self._upper:.0%}"
        else:
            demand = measured.busy
            wanted = self._fewest(demand)
            if self._removal == TABLE:
                wanted = max(1, math.floor(demand / self._target + _ROUNDING))
            wanted = min(wanted, self._instances)
            crossed = f"below {self._lower:.0%}"
        if wanted == self._instances:
            return None
        return Decision(
            instances=wanted,
            why=f"load {demand / self._instances:.1%} of {self._instances} instances, {crossed}",
        )

    def _fewest(self, demand: float) -> int:
        """Return the smallest n >= 1 with demand / n < target."""
        return math.floor(demand / self._target + _ROUNDING) + 1


class _Measurement:
    """Means over one or more observations of the same instances."""

    def __init__(self) -> None:
        self.span_s = 0.0
        self._busy_s = 0.0
        self._offered = 0.0
        self._processed = 0.0

    def add(self, seen: Observation) -> None:
        self.span_s += seen.span_s
        self._busy_s += sum(seen.busy) * seen.span_s
        self._offered += sum(seen.offered_eps or seen.processed_eps) * seen.span_s
        self._processed += sum(seen.processed_eps) * seen.span_s

    @property
    def busy(self) -> float:
        """Busy shares of all instances together, in instances."""
        return self._busy_s / self.span_s

    @property
    def excess(self) -> float:
        """Offered by processed tuples, at least 1: by how much the work outgrows the instances.

        1 where nothing was processed: that says that they are stuck, not how much work there is.
        """
        return max(1.0, self._offered / self._processed) if self._processed > 0 else 1.0
