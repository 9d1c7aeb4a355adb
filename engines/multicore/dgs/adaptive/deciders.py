"""Who says when a plan changes to which: by measured rates, or by a script."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from streamlab.engines.multicore.dgs.adaptive.decision import Patience, Wish, better, say_little
from streamlab.engines.multicore.dgs.adaptive.rates import alike, measured_rates
from streamlab.engines.multicore.dgs.recovery.cuts import Cuts, positions_at
from streamlab.workloads.model import Input
from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.model.dgs.stream_profile import StreamProfile
from streamlab.workloads.optimizers import Costs

FIRST_CHANGE_NS = 2e6
"""What a change is taken to cost before one was made: 1.7 ms were measured on two cores."""
MARGIN = 0.1
"""By which share another plan must be predicted to be quicker: twice what the optimizer `cost` asks
of a further worker, since a change takes milliseconds."""
MOST_SPARED = 7
"""Looks in a row without a plan."""


class Decider(Protocol):
    """Decides in one run; may keep what it saw."""

    period_s: float
    """Between two looks."""
    at_once: bool
    """Whether it is asked right after a change as well."""

    def look(self, plan: Plan, decided: int) -> Wish | None:
        """Return the change that is wanted, or None. Called at most once a period.

        Args:
            plan: the running one.
            decided: cuts to which a mailbox has come.
        """

    def changed(self, took_ns: int) -> None:
        """Learn that the change was made, and what it took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapting:
    """What `ByRates` goes by.

    Attributes:
        period_s: between two looks.
        margin: by which share another plan must be predicted to be quicker.
        chosen: the plan for measured rates.
        costs: of the program's steps.
        whole: the profile of the whole input, for which tags there are, no more.
    """

    period_s: float
    chosen: Callable[[Sequence[StreamProfile]], Plan]
    costs: Costs
    whole: Sequence[StreamProfile]
    margin: float = MARGIN


class ByRates:
    """Goes by the rates of the latest period and predicted durations.

    To plan takes longer than to measure rates, on a core that the workers lack. So none is made for
    rates like those for which none better was found, but for one look in `MOST_SPARED` + 1: what
    may be chance, and what an optimizer says of rates a little different, is not put off for ever.

    Args:
        how: see there.
        data: what the run processes.
        cuts: of it.
    """

    at_once = False

    def __init__(self, how: Adapting, data: Input, cuts: Cuts) -> None:
        self.period_s = how.period_s
        self._how = how
        self._data = data
        self._cuts = cuts
        self._change_ns: float = FIRST_CHANGE_NS
        self._patience = Patience()
        self._from: tuple[int, ...] | None = None
        self._settled: Sequence[StreamProfile] | None = None
        self._spared = 0
        self._since_ns = time.monotonic_ns()

    def look(self, plan: Plan, decided: int) -> Wish | None:
        """See `Decider.look`."""
        if decided == 0:
            return None
        now_ns = time.monotonic_ns()
        here = positions_at(self._data, *self._cuts.key(decided - 1))
        begins, since_ns = self._from or (0,) * len(here), self._since_ns
        self._from, self._since_ns = here, now_ns
        found = None
        if not say_little(sum(here) - sum(begins)):
            rates = measured_rates(self._data, begins, here, self._how.whole)
            found = self._better(plan, rates, now_ns - since_ns)
        return self._patience.worth(found, self._change_ns)

    def _better(self, plan: Plan, rates: Sequence[StreamProfile], period_ns: float) -> Wish | None:
        # Where no tag's share differs by more, no quotient of two durations does by the margin.
        within = 1 - (1 + self._how.margin) ** -0.5
        settled = self._settled if self._spared < MOST_SPARED else None
        if settled is not None and alike(settled, rates, within):
            self._spared += 1
            return None
        found = better(
            plan,
            rates,
            chosen=self._how.chosen,
            costs=self._how.costs,
            margin=self._how.margin,
            period_ns=period_ns,
        )
        self._settled, self._spared = (rates if found is None else None), 0
        return found

    def changed(self, took_ns: int) -> None:
        """See `Decider.changed`: a change is taken to cost what the last one did."""
        self._change_ns = took_ns
        self._since_ns = time.monotonic_ns()


class Script:
    """Follows a script, whatever the load: for tests.

    Args:
        steps: `(cut, plan)`, cuts ascending: at that one, or the next to which nobody has come.
    """

    period_s = 3600.0
    at_once = True

    def __init__(self, steps: Sequence[tuple[int, Plan]]) -> None:
        self._steps = list(steps)

    def look(self, plan: Plan, decided: int) -> Wish | None:
        """Return the next step."""
        if not self._steps:
            return None
        cut, other = self._steps.pop(0)
        return Wish(plan=other, from_cut=cut, why=f"the script's step at cut {cut}")

    def changed(self, took_ns: int) -> None:
        """Nothing is learnt."""
