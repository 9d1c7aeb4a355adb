"""A batch engine with threads: each stream is cut at the barriers by itself, then sums are added.

NumPy lets go of the interpreter while it computes, so that as many streams are worked at as there
are workers. Where barriers and values share a stream, ties go by position, which this does not look
at: it refuses, with the reason.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from streamlab.engine import BatchEngine, Columns, Input, Stream, Task

VALUE, BARRIER = 0, 1


def event_window(task: Task, data: Input) -> Columns:
    """Return the sum of the values between two barriers."""
    numbered = list(enumerate(data.streams))
    barriers = [(src, stream) for src, stream in numbered if stream.kinds == (BARRIER,)]
    ts = np.concatenate([np.empty(0, np.int64), *(stream.ts for _, stream in barriers)])
    src = np.repeat([src for src, _ in barriers], [len(stream) for _, stream in barriers])
    order = np.lexsort((src, ts))
    ts, src = ts[order], src[order]

    def sums(of: int, stream: Stream) -> Columns:
        # A value comes before a barrier of its time if its stream does.
        end = np.searchsorted(stream.ts, ts - (src < of), side="right")
        upto = np.concatenate([[0], np.cumsum(stream.payload["value"])])[end]
        return np.diff(upto, prepend=0)

    with ThreadPoolExecutor(task.workers) as pool:
        values = [(of, stream) for of, stream in numbered if stream.kinds == (VALUE,)]
        parts = list(pool.map(lambda one: sums(*one), values))
    return {"ts": ts, "sum": sum(parts, np.zeros(len(ts), np.int64))}


QUERIES = {"event_window": event_window}


class SumsByStream(BatchEngine):
    """Event windows by prefix sums, a thread for each worker."""

    name = "sums-by-stream"
    packages = ("sums-by-stream", "numpy")
    queries = QUERIES
    most_workers = None

    def refused(self, task: Task) -> str | None:
        """Refuse streams that carry values and barriers."""
        mixed = [stream.name for stream in task.dataset.streams if len(stream.kinds) > 1]
        return f"stream {mixed[0]} carries values and barriers" if mixed else None
