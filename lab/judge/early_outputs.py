"""Finds outputs that left an engine before the input they depend on was due."""

from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.protocol import OfferedLoad, Progress
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.time_cutoff import event_times


def early_outputs(
    progress: Progress | None,
    load: OfferedLoad,
    dataset: Dataset,
    output_ts: npt.NDArray[Any],
    delay: int = 0,
) -> str | None:
    """Return a text about outputs that left too early; None if the counts show none.

    An output of event time T depends on inputs up to T - `delay`.
    It can leave once an event or heartbeat of that time or later is due, or once all events are due.
    The function compares the engine's counts, in steps of 100 ms, with the number of outputs that can have left.

    Args:
        progress: counts of the engine; None: nothing can be checked.
        load: the offered load.
        dataset: the input, truncated to the load's length.
        output_ts: int64[m], event times of the expected outputs.
        delay: how much later than its cause an output may be timed (`OutputType.delay`).
    """
    if progress is None or not len(output_ts):
        return None
    ts = [*event_times(dataset), *load.heartbeat_ts]
    due_ns = [*load.due_ns, *load.heartbeat_due_ns]
    times, dues = np.concatenate(ts), np.concatenate(due_ns)
    order = np.argsort(dues, kind="stable")
    dues, reached = dues[order], np.maximum.accumulate(times[order])
    # Index of the first due time that reaches the time of each output's cause.
    at = np.searchsorted(reached, np.sort(output_ts.astype(np.int64)) - delay, side="left")
    last_ns = max((int(stream[-1]) for stream in load.due_ns if len(stream)), default=0)
    possible_ns = np.sort(np.append(dues, last_ns)[at].clip(max=last_ns))
    ends_ns = (np.arange(len(progress.outputs)) + 1) * progress.step_ns
    possible = np.searchsorted(possible_ns, ends_ns, side="left")
    ahead = np.cumsum(progress.outputs) - possible
    worst = int(np.argmax(ahead))
    if ahead[worst] <= 0:
        return None
    return (
        f"{ahead[worst]} outputs had left after {ends_ns[worst] / 1e9:g} s although the inputs they "
        "depend on were not due yet"
    )
