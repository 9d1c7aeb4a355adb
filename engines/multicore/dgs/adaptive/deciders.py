"""Decides when the plan changes, and to which plan: by measured rates or by a script."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from streamlab.engines.multicore.dgs.adaptive.decision import (
    Patience,
    PlanProposal,
    propose_change,
    too_few_events,
)
from streamlab.engines.multicore.dgs.adaptive.rates import measure_rates, similar_rates
from streamlab.engines.multicore.dgs.recovery.cuts import Cuts, positions_at
from streamlab.workloads.model import Input
from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.model.dgs.stream_profile import StreamProfile
from streamlab.workloads.optimizers import Costs

FIRST_CHANGE_NS = 2e6
"""Assumed cost of the first change; 1.7 ms were measured on two cores."""
MARGIN = 0.1
"""Predicted gain that another plan needs: twice that of the optimizer `cost` for a further worker, since
a change takes milliseconds."""
MOST_SKIPPED = 7
"""Maximum number of successive checks that skip planning."""


class Decider(Protocol):
    """Proposes plan changes in one run."""

    period_s: float
    """Time between two checks."""
    at_once: bool
    """Whether to ask again right after a change."""

    def look(self, plan: Plan, decided: int) -> PlanProposal | None:
        """Return a change of the running plan to make, or None. Called at most once a period.

        `decided` is the number of cuts that a mailbox has reached.
        """

    def changed(self, took_ns: int) -> None:
        """Take note of a completed change and its duration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveSettings:
    """Settings of `RateDecider`.

    Attributes:
        period_s: time between two checks.
        choose_plan: returns the optimizer's plan for measured rates.
        costs: costs of the program's steps.
        input_profile: profile of the complete input; only its set of tags is used.
        margin: predicted gain that another plan needs, as a share.
    """

    period_s: float
    choose_plan: Callable[[Sequence[StreamProfile]], Plan]
    costs: Costs
    input_profile: Sequence[StreamProfile]
    margin: float = MARGIN


class RateDecider:
    """Proposes changes by the rates of the latest period and the durations predicted from them.

    Planning takes longer than measuring rates, on a core that the workers need. So a check skips it if the rates are
    similar to those for which no better plan was found. At most `MOST_SKIPPED` successive checks skip it, since the
    similarity may be chance, and an optimizer may react to small differences.
    """

    at_once = False

    def __init__(self, settings: AdaptiveSettings, data: Input, cuts: Cuts) -> None:
        self.period_s = settings.period_s
        self._settings = settings
        self._data = data
        self._cuts = cuts
        self._change_ns: float = FIRST_CHANGE_NS
        self._patience = Patience()
        self._from: tuple[int, ...] | None = None
        self._settled: Sequence[StreamProfile] | None = None
        self._skipped = 0
        self._since_ns = time.monotonic_ns()

    def look(self, plan: Plan, decided: int) -> PlanProposal | None:
        """See `Decider.look`."""
        if decided == 0:
            return None
        now_ns = time.monotonic_ns()
        here = positions_at(self._data, *self._cuts.key(decided - 1))
        begins, since_ns = self._from or (0,) * len(here), self._since_ns
        self._from, self._since_ns = here, now_ns
        proposal = None
        if not too_few_events(sum(here) - sum(begins)):
            rates = measure_rates(self._data, begins, here, self._settings.input_profile)
            proposal = self._propose(plan, rates, now_ns - since_ns)
        return self._patience.worth(proposal, self._change_ns)

    def _propose(
        self, plan: Plan, rates: Sequence[StreamProfile], period_ns: float
    ) -> PlanProposal | None:
        # If no tag's share differs by more than this, no ratio of durations differs by the margin.
        within = 1 - (1 + self._settings.margin) ** -0.5
        settled = self._settled if self._skipped < MOST_SKIPPED else None
        if settled is not None and similar_rates(settled, rates, within):
            self._skipped += 1
            return None
        proposal = propose_change(
            plan,
            rates,
            choose_plan=self._settings.choose_plan,
            costs=self._settings.costs,
            margin=self._settings.margin,
            period_ns=period_ns,
        )
        self._settled, self._skipped = (rates if proposal is None else None), 0
        return proposal

    def changed(self, took_ns: int) -> None:
        """Use the duration of the change as the cost of the next one."""
        self._change_ns = took_ns
        self._since_ns = time.monotonic_ns()


class ScriptDecider:
    """Proposes the changes of a script, for tests.

    Args:
        steps: `(cut, plan)` in ascending order of cuts. A change happens at its cut, or at the next that no mailbox
            has reached.
    """

    period_s = 3600.0
    at_once = True

    def __init__(self, steps: Sequence[tuple[int, Plan]]) -> None:
        self._steps = list(steps)

    def look(self, plan: Plan, decided: int) -> PlanProposal | None:
        """Return the next step."""
        if not self._steps:
            return None
        cut, other = self._steps.pop(0)
        return PlanProposal(plan=other, from_cut=cut, why=f"the script's step at cut {cut}")

    def changed(self, took_ns: int) -> None:
        """Do nothing."""
