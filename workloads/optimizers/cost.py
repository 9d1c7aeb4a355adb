"""By cost: the plan that is predicted to be quickest, by measured costs of its steps."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.optimizers.balanced import balanced
from streamlab.workloads.optimizers.by_stream import by_stream
from streamlab.workloads.optimizers.prediction import Prediction, predict
from streamlab.workloads.optimizers.request import Choice, Costs, PlanRequest

WORTH_IT = 1.05
"""So much quicker must a plan with more workers be: predictions are not better than that."""
TRIED_ALL = 4
"""Up to so many workers each number is tried; above, every second power of two, and the most."""


def cost(request: PlanRequest) -> Choice:
    """Choose among plans by stream and balanced, for one worker up to as many as there are.

    Fewer workers where more would not be 5 % quicker, and never more than cores. With one worker
    there is nothing to choose, and costs are not asked for.
    """
    alone = by_stream(replace(request, workers=1))
    if request.workers == 1:
        return alone
    costs = request.costs()
    best = ("1 worker", alone.plan, predict(alone.plan, request.streams, costs))
    lines = [costs_line(costs), _line(*best, costs)]
    for name, plan in _candidates(request, costs.cores):
        candidate = (name, plan, predict(plan, request.streams, costs))
        lines.append(_line(*candidate, costs))
        if candidate[2].duration_ns * WORTH_IT < best[2].duration_ns:
            best = candidate
    used = len(best[2].steps)
    lines.append(
        f"chosen: {best[0]}; it uses {used} of {request.workers} workers"
        + (f" ({costs.cores} cores)" if costs.cores < request.workers else "")
    )
    return Choice(plan=best[1], because=tuple(lines))


def _candidates(request: PlanRequest, cores: int) -> Iterator[tuple[str, Plan]]:
    most = min(request.workers, cores)
    counts = {n for n in range(2, most + 1) if n <= TRIED_ALL or n & (n - 1) == 0} | {most}
    seen: set[tuple[object, ...]] = set()
    for workers in sorted(counts - {1}):
        for name, optimizer in (("by stream", by_stream), ("balanced", balanced)):
            plan = optimizer(replace(request, workers=workers)).plan
            used = plan_workers(plan)
            shape = tuple((tree.root, tree.keys.tobytes()) for tree in plan.trees)
            if used == 1 or shape in seen:
                continue
            seen.add(shape)
            yield f"{used} workers, {name}", plan


def plan_workers(plan: Plan) -> int:
    """Return how many workers have leaves."""
    return len(
        {node.worker for tree in plan.trees for node in tree.root.walk() if not node.children}
    )


def costs_line(costs: Costs) -> str:
    """Return costs in words."""
    return (
        f"costs in ns: update {costs.update_ns:.3g}, in order {costs.order_ns:.3g}, "
        f"fork and join {costs.fork_join_ns:.3g}, hand-over {costs.handover_ns:.3g}, "
        f"pass over {costs.skip_ns:.3g}, a further worker {costs.start_ns:.3g}"
        + (f", a key of an event across keys {costs.cross_ns:.3g}" if costs.cross_ns else "")
    )


def _line(name: str, plan: Plan, found: Prediction, costs: Costs) -> str:
    text = f"{name}: {found.event_ns:.3g} ns an event"
    if found.synchronizations:
        every = found.events / found.synchronizations
        waited = np.max([steps.met for steps in found.steps]) * costs.handover_ns
        share = waited / max(1.0, found.duration_ns)
        text += f", a synchronization every {every:.3g} events, {share:.0%} of the time hand-over"
    return text
