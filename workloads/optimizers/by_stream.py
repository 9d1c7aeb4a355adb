"""By stream: a stream's events that need no synchronization are all on one worker."""

from streamlab.workloads.model.dgs.optimizer import choose_plan
from streamlab.workloads.optimizers.request import Choice, PlanRequest


def by_stream(request: PlanRequest) -> Choice:
    """Place whole streams, the largest first, on the worker with the fewest events.

    Greedy: it maximises the events that leaves process, and minds no cost. Keys are spread only
    where there are more workers than streams. A stream is read by one worker, but a key that occurs
    in two streams is synchronized between two.
    """
    return Choice(
        plan=choose_plan(request.program, request.alphabet, request.streams, request.workers)
    )
