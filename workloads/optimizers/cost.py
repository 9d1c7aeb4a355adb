"""Implements optimizer `cost`: the plan with the shortest predicted time, by measured costs."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.optimizers.balanced import balanced
from streamlab.workloads.optimizers.by_stream import by_stream
from streamlab.workloads.optimizers.prediction import Prediction, predict
from streamlab.workloads.optimizers.request import Choice, Costs, PlanRequest

MIN_SPEEDUP = 1.05
"""Predicted speed-up that a plan with more workers must reach; smaller differences are within the error."""
ALL_COUNTS_UP_TO = 4
"""All numbers of workers up to this are tried; above it, only powers of two and the maximum."""


def cost(request: PlanRequest) -> Choice:
    """Choose among the plans of `by_stream` and `balanced`, for 1 to `request.workers` workers.

    The choice has more workers only if they are predicted to be 5 % quicker, and never more workers than
    cores. For one worker, costs are not measured.
    """
    single_worker = by_stream(replace(request, workers=1))
    if request.workers == 1:
        return single_worker
    costs = request.costs()
    best = ("1 worker", single_worker.plan, predict(single_worker.plan, request.streams, costs))
    lines = [costs_line(costs), _line(*best, costs)]
    for name, plan in _candidates(request, costs.cores):
        candidate = (name, plan, predict(plan, request.streams, costs))
        lines.append(_line(*candidate, costs))
        if candidate[2].duration_ns * MIN_SPEEDUP < best[2].duration_ns:
            best = candidate
    used_workers = len(best[2].steps)
    lines.append(
        f"chosen: {best[0]}; it uses {used_workers} of {request.workers} workers"
        + (f" ({costs.cores} cores)" if costs.cores < request.workers else "")
    )
    return Choice(plan=best[1], reasons=tuple(lines))


def _candidates(request: PlanRequest, cores: int) -> Iterator[tuple[str, Plan]]:
    max_workers = min(request.workers, cores)
    counts = {n for n in range(2, max_workers + 1) if n <= ALL_COUNTS_UP_TO or n & (n - 1) == 0}
    counts.add(max_workers)
    shapes: set[tuple[object, ...]] = set()
    for workers in sorted(counts - {1}):
        for name, optimizer in (("by stream", by_stream), ("balanced", balanced)):
            plan = optimizer(replace(request, workers=workers)).plan
            used_workers = plan_workers(plan)
            shape = tuple((tree.root, tree.keys.tobytes()) for tree in plan.trees)
            if used_workers == 1 or shape in shapes:
                continue
            shapes.add(shape)
            yield f"{used_workers} workers, {name}", plan


def plan_workers(plan: Plan) -> int:
    """Return how many workers have leaves."""
    return len(
        {node.worker for tree in plan.trees for node in tree.root.walk() if not node.children}
    )


def costs_line(costs: Costs) -> str:
    """Return costs as a line of text."""
    return (
        f"costs in ns: update {costs.update_ns:.3g}, in order {costs.order_ns:.3g}, "
        f"fork and join {costs.fork_join_ns:.3g}, hand-over {costs.handover_ns:.3g}, "
        f"pass over {costs.skip_ns:.3g}, a further worker {costs.start_ns:.3g}"
        + (f", a key of an event across keys {costs.cross_ns:.3g}" if costs.cross_ns else "")
    )


def _line(name: str, plan: Plan, prediction: Prediction, costs: Costs) -> str:
    text = f"{name}: {prediction.event_ns:.3g} ns an event"
    if prediction.synchronizations:
        every = prediction.events / prediction.synchronizations
        waiting_ns = np.max([steps.shared_joins for steps in prediction.steps]) * costs.handover_ns
        share = waiting_ns / max(1.0, prediction.duration_ns)
        text += f", a synchronization every {every:.3g} events, {share:.0%} of the time hand-over"
    return text
