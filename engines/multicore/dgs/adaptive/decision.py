"""Decides whether another plan is worth a change; pure functions of rates and costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.model.dgs.stream_profile import StreamProfile
from streamlab.workloads.optimizers import Costs
from streamlab.workloads.optimizers.prediction import predict

FEWEST_EVENTS = 4096
"""Minimum number of events in a period: fewer give unreliable rates, and promise little gain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanProposal:
    """A proposed plan change.

    Attributes:
        plan: the new plan.
        from_cut: number of the earliest cut for the change.
        why: reason as text.
        saved_ns: time that the new plan would have saved in the latest period.
    """

    plan: Plan
    from_cut: int = 0
    why: str
    saved_ns: float = 0


def too_few_events(events: int) -> bool:
    """Return whether a period has too few events for reliable rates."""
    return events < FEWEST_EVENTS


def propose_change(
    plan: Plan,
    rates: Sequence[StreamProfile],
    *,
    choose_plan: Callable[[Sequence[StreamProfile]], Plan],
    costs: Costs,
    margin: float,
    period_ns: float,
) -> PlanProposal | None:
    """Return a change of the running plan to the optimizer's if that is predicted to be faster, else None.

    `rates` and `period_ns` are those of the latest period; `margin` is the required gain as a share, e.g. 0.1.
    """
    other = choose_plan(rates)
    if same_plan(plan, other):
        return None
    now, then = predict(plan, rates, costs), predict(other, rates, costs)
    if now.duration_ns <= (1 + margin) * then.duration_ns:
        return None
    saved_ns = period_ns * (1 - then.duration_ns / now.duration_ns)
    why = (
        f"at the rates of the last {period_ns / 1e6:.3g} ms an event takes {now.event_ns:.3g} ns, "
    )
    why += f"and {then.event_ns:.3g} ns with another plan"
    return PlanProposal(plan=other, why=why, saved_ns=saved_ns)


class Patience:
    """Delays a change until the savings missed without it equal its cost (rent or buy).

    The total cost is then at most twice that of the best plan, however long the rates last.
    """

    def __init__(self) -> None:
        self._missed_ns = 0.0

    def worth(self, proposal: PlanProposal | None, change_ns: float) -> PlanProposal | None:
        """Return a proposed change if the missed savings exceed its cost; no proposal resets them."""
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
