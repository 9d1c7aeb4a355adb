"""Whether another plan is worth a change: no clock, no input."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.model.dgs.stream_profile import StreamProfile
from streamlab.workloads.optimizers import Costs
from streamlab.workloads.optimizers.prediction import predict

FEWEST_EVENTS = 4096
"""Of a period: the shares of fewer say little, and there is little to gain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A change that is wanted.

    Attributes:
        plan: the new one.
        from_cut: number of the earliest cut.
        why: in words.
        saved_ns: what it would have saved in the latest period.
    """

    plan: Plan
    from_cut: int = 0
    why: str
    saved_ns: float = 0


def say_little(events: int) -> bool:
    """Return whether the rates of so many events are nothing to go by."""
    return events < FEWEST_EVENTS


def better(
    plan: Plan,
    rates: Sequence[StreamProfile],
    *,
    chosen: Callable[[Sequence[StreamProfile]], Plan],
    costs: Costs,
    margin: float,
    period_ns: float,
) -> Wish | None:
    """Return the change to a plan that is predicted to be quicker by more than a margin, or None.

    Args:
        plan: the running one.
        rates: measured in the latest period.
        chosen: the plan for such rates.
        costs: of the program's steps.
        margin: e.g. 0.1.
        period_ns: how long the period took.
    """
    other = chosen(rates)
    if same(plan, other):
        return None
    now, then = predict(plan, rates, costs), predict(other, rates, costs)
    if now.duration_ns <= (1 + margin) * then.duration_ns:
        return None
    saved_ns = period_ns * (1 - then.duration_ns / now.duration_ns)
    why = f"at the rates of the last {period_ns / 1e6:.3g} ms {now.event_ns:.3g} ns an event as it "
    why += f"is, {then.event_ns:.3g} ns with another plan"
    return Wish(plan=other, why=why, saved_ns=saved_ns)


class Patience:
    """Has a change made once what was missed for want of it is what it takes: rent or buy.

    How long rates will hold nobody knows. So never more than twice what the best plan would have
    cost is paid, whether they turn back right after the change or never do.
    """

    def __init__(self) -> None:
        self._missed_ns = 0.0

    def worth(self, found: Wish | None, change_ns: float) -> Wish | None:
        """Return what was found at a look if it is worth its change; where nothing is, begin anew.

        Args:
            found: what `better` says of the latest period.
            change_ns: what a change takes.
        """
        if found is None:
            self._missed_ns = 0.0
            return None
        self._missed_ns += found.saved_ns
        if self._missed_ns <= change_ns:
            return None
        why = f"{found.why}; {self._missed_ns / 1e6:.3g} ms were missed, and to change takes "
        why += f"{change_ns / 1e6:.3g} ms"
        self._missed_ns = 0.0
        return replace(found, why=why)


def same(a: Plan, b: Plan) -> bool:
    """Return whether two plans of one program place everything alike."""
    return _shape(a) == _shape(b)


def _shape(plan: Plan) -> tuple[object, ...]:
    return tuple((tree.root, tree.keys.tobytes()) for tree in plan.trees)
