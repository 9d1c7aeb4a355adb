"""Implements optimizer `by-stream`: one worker for all independent events of a stream."""

from streamlab.workloads.model.dgs.optimizer import choose_plan
from streamlab.workloads.optimizers.request import Choice, PlanRequest


def by_stream(request: PlanRequest) -> Choice:
    """Place whole streams, the largest first, on the worker with the fewest events.

    Greedy: the optimizer maximises the events that leaves process, and ignores costs. It spreads keys only
    if there are more workers than streams. Otherwise one worker reads a whole stream, and a key that
    occurs in two streams may be synchronized between two workers.
    """
    return Choice(
        plan=choose_plan(request.program, request.alphabet, request.streams, request.workers)
    )
