"""Whether another plan is worth a change: pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workloads.model.plan import Plan
from workloads.model.profile import StreamProfile
from workloads.optimizers import Costs
from workloads.optimizers.prediction import predict

FEWEST_EVENTS = 4096
"""Of a period: the shares of fewer say little, and there is little to gain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A change that is wanted.

    Attributes:
        plan: the new one.
        from_cut: number of the earliest cut.
        why: in words.
    """

    plan: Plan
    from_cut: int = 0
    why: str


def wish(
    plan: Plan,
    rates: Sequence[StreamProfile],
    *,
    chosen: Callable[[Sequence[StreamProfile]], Plan],
    costs: Costs,
    margin: float,
    period_ns: float,
    change_ns: float,
) -> Wish | None:
    """Return the change that pays, or None.

    The rates of a period are taken to hold for one more. In that one the new plan has to save more
    than the change takes, and by the prediction to be quicker by more than the margin.

    Args:
        plan: the running one.
        rates: measured in the latest period.
        chosen: the plan for such rates.
        costs: of the program's steps.
        margin: e.g. 0.1.
        period_ns: how long the period took.
        change_ns: what a change takes.
    """
    if sum(stream.events for stream in rates) < FEWEST_EVENTS:
        return None
    other = chosen(rates)
    if same(plan, other):
        return None
    now, then = predict(plan, rates, costs), predict(other, rates, costs)
    if now.duration_ns <= (1 + margin) * then.duration_ns:
        return None
    saved_ns = period_ns * (1 - then.duration_ns / now.duration_ns)
    if saved_ns <= change_ns:
        return None
    why = f"at the rates of the last {period_ns / 1e6:.3g} ms {now.event_ns:.3g} ns an event as it "
    why += f"is, {then.event_ns:.3g} ns with another plan, which saves {saved_ns / 1e6:.3g} ms in "
    why += f"as much time, and to change takes {change_ns / 1e6:.3g} ms"
    return Wish(plan=other, why=why)


def same(a: Plan, b: Plan) -> bool:
    """Return whether two plans of one program place everything alike."""
    return _shape(a) == _shape(b)


def _shape(plan: Plan) -> tuple[object, ...]:
    return tuple((tree.root, tree.keys.tobytes()) for tree in plan.trees)
