"""Decides by measured rates when the plan changes, and to which plan."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from streamlab.engines.multicore.dgs.adaptive.rates import are_similar, measure_rates
from streamlab.engines.multicore.dgs.recovery.cuts import Cuts, positions_at
from streamlab.workloads.model import Input
from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.model.dgs.stream_profile import StreamProfile
from streamlab.workloads.optimizers import Costs
from streamlab.workloads.optimizers.prediction import predict

FIRST_CHANGE_NS = 2e6
"""Assumed duration of the first change in ns; 1.7 ms were measured on two cores."""
MARGIN = 0.1
"""Predicted gain that another plan needs: twice the gain that the optimizer `cost` requires for a further worker,
because a change takes milliseconds."""
MAX_SKIPPED = 7
"""Maximum number of successive checks that skip planning."""

FEWEST_EVENTS = 4096
"""Minimum number of events in a period: with fewer, rates are unreliable and a change gains little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanProposal:
    """A plan for the cuts from `from_cut` on.

    Attributes:
        plan: the proposed plan.
        from_cut: index of the first cut at which the plan may begin.
        why: the reason, in words.
        saved_ns: time that the plan would have saved in the latest period.
    """

    plan: Plan
    from_cut: int = 0
    why: str
    saved_ns: float = 0


def propose_change(
    plan: Plan,
    rates: Sequence[StreamProfile],
    *,
    choose_plan: Callable[[Sequence[StreamProfile]], Plan],
    costs: Costs,
    margin: float,
    period_ns: float,
) -> PlanProposal | None:
    """Propose the optimizer's plan if it is predicted to be faster than the running plan; otherwise return None.

    `rates` and `period_ns` are those of the latest period; `margin` is the required gain as a share, e.g. 0.1.
    """
    new_plan = choose_plan(rates)
    if same_plan(plan, new_plan):
        return None
    old_prediction, new_prediction = predict(plan, rates, costs), predict(new_plan, rates, costs)
    if old_prediction.duration_ns <= (1 + margin) * new_prediction.duration_ns:
        return None
    saved_ns = period_ns * (1 - new_prediction.duration_ns / old_prediction.duration_ns)
    why = (
        f"at the rates of the last {period_ns / 1e6:.3g} ms an event takes {old_prediction.event_ns:.3g} ns, "
        f"and {new_prediction.event_ns:.3g} ns with another plan"
    )
    return PlanProposal(plan=new_plan, why=why, saved_ns=saved_ns)


class Patience:
    """Delays a change until the missed savings equal the cost of the change (rent or buy).

    The total cost is then at most twice the cost of the best plan, however long the rates last.
    """

    def __init__(self) -> None:
        self._missed_ns = 0.0

    def worth(self, proposal: PlanProposal | None, change_ns: float) -> PlanProposal | None:
        """Return a proposed change if the missed savings exceed its cost. A proposal of None resets the savings."""
        if proposal is None:
            self._missed_ns = 0.0
            return None
        self._missed_ns += proposal.saved_ns
        if self._missed_ns <= change_ns:
            return None
        why = f"{proposal.why}; {self._missed_ns / 1e6:.3g} ms of savings were missed, and a change takes "
        why += f"{change_ns / 1e6:.3g} ms"
        self._missed_ns = 0.0
        return replace(proposal, why=why)


def same_plan(a: Plan, b: Plan) -> bool:
    """Return whether two plans of one program have the same trees, placement and keys."""
    shapes = ([(tree.root, tree.keys.tobytes()) for tree in plan.trees] for plan in (a, b))
    return next(shapes) == next(shapes)


class Decider(Protocol):
    """Proposes plan changes in one run."""

    period_s: float
    """Time between two checks."""
    at_once: bool
    """Whether to ask again right after a change."""

    def consider(self, plan: Plan, decided: int) -> PlanProposal | None:
        """Return a change of the running plan to make, or None. Called at most once per period.

        `decided` is the number of cuts that a mailbox has reached.
        """

    def changed(self, took_ns: int) -> None:
        """Record a completed change and its duration."""


class RateDecider:
    """Proposes changes by the rates of the latest period and the durations predicted from them.

    Planning takes longer than measuring rates, on a core that the workers need. A check therefore skips planning if the
    rates are similar to rates for which no better plan was found. At most `MAX_SKIPPED` successive checks skip it,
    because the similarity may be chance, and an optimizer may react to small differences.

    Args:
        data, cuts: the input and its cuts.
        period_s: time between two checks.
        choose_plan: the optimizer.
        costs: costs of the program's steps.
        input_profile: the profile of the complete input; only its set of tags is used.
        margin: predicted gain that another plan needs, as a share.
    """

    at_once = False

    def __init__(
        self,
        data: Input,
        cuts: Cuts,
        *,
        period_s: float,
        choose_plan: Callable[[Sequence[StreamProfile]], Plan],
        costs: Costs,
        input_profile: Sequence[StreamProfile],
        margin: float = MARGIN,
    ) -> None:
        self.period_s = period_s
        self._choose_plan = choose_plan
        self._costs = costs
        self._input_profile = input_profile
        self._margin = margin
        self._data = data
        self._cuts = cuts
        self._change_ns: float = FIRST_CHANGE_NS
        self._patience = Patience()
        self._positions: tuple[int, ...] | None = None
        self._settled_rates: Sequence[StreamProfile] | None = None
        self._skipped = 0
        self._since_ns = time.monotonic_ns()

    def consider(self, plan: Plan, decided: int) -> PlanProposal | None:
        """See `Decider.consider`."""
        if decided == 0:
            return None
        now_ns = time.monotonic_ns()
        positions = positions_at(self._data, *self._cuts[decided - 1].item())
        begins, since_ns = self._positions or (0,) * len(positions), self._since_ns
        self._positions, self._since_ns = positions, now_ns
        proposal = None
        if sum(positions) - sum(begins) >= FEWEST_EVENTS:
            rates = measure_rates(self._data, begins, positions, self._input_profile)
            proposal = self._propose(plan, rates, now_ns - since_ns)
        return self._patience.worth(proposal, self._change_ns)

    def _propose(
        self, plan: Plan, rates: Sequence[StreamProfile], period_ns: float
    ) -> PlanProposal | None:
        """Return the proposal for the latest rates; None if no better plan exists or planning is skipped."""
        # If no tag's share differs by more than the tolerance, no ratio of durations differs by the margin.
        tolerance = 1 - (1 + self._margin) ** -0.5
        settled_rates = self._settled_rates if self._skipped < MAX_SKIPPED else None
        if settled_rates is not None and are_similar(settled_rates, rates, tolerance):
            self._skipped += 1
            return None
        proposal = propose_change(
            plan,
            rates,
            choose_plan=self._choose_plan,
            costs=self._costs,
            margin=self._margin,
            period_ns=period_ns,
        )
        self._settled_rates, self._skipped = (rates if proposal is None else None), 0
        return proposal

    def changed(self, took_ns: int) -> None:
        """Use the duration of the change as the cost of the next one."""
        self._change_ns = took_ns
        self._since_ns = time.monotonic_ns()
