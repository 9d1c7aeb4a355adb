"""Implements optimizer `balanced`: whole keys on workers, with equal numbers of events."""

import numpy as np

from streamlab.workloads.model.dgs.dependence import keys_together
from streamlab.workloads.model.dgs.optimizer import plan_for_placement, reading_streams
from streamlab.workloads.model.dgs.placement import lpt_together
from streamlab.workloads.model.dgs.stream_profile import within_keys
from streamlab.workloads.optimizers.by_stream import by_stream
from streamlab.workloads.optimizers.request import Choice, PlanRequest


def balanced(request: PlanRequest) -> Choice:
    """Place whole keys, the largest first, on the worker with the fewest events.

    Workers never synchronize, but each reads all streams and skips other workers' keys. A key with
    many events is not divided. Keys that share events across keys are placed on one worker.
    Programs with one key are planned by stream.
    """
    keys = request.alphabet.keys
    if keys == 1 or request.workers == 1:
        return by_stream(request)
    streams = within_keys(request.program, request.streams)
    events = np.sum([stream.key_events for stream in streams], axis=0)
    together = keys_together(request.program, keys)
    placement = np.full((keys, len(request.streams)), -1, dtype=np.int32)
    reading = reading_streams(request.program, request.streams)
    placement[:, reading] = lpt_together(events, request.workers, together)[:, None]
    return Choice(
        plan=plan_for_placement(
            request.program, request.alphabet, request.streams, request.workers, placement
        )
    )
