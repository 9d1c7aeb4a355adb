"""A batch engine with threads: sums each stream between barriers, then adds the streams' sums.

NumPy releases the interpreter lock while it computes, so threads process streams in parallel. Ties
within a stream are decided by position, which the engine ignores. It therefore refuses streams with
both barriers and values.
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

    def sums(index: int, stream: Stream) -> Columns:
        # A value precedes a barrier of the same time if its stream precedes the barrier's.
        end = np.searchsorted(stream.ts, ts - (src < index), side="right")
        sum_before = np.concatenate([[0], np.cumsum(stream.payload["value"])])[end]
        return np.diff(sum_before, prepend=0)

    with ThreadPoolExecutor(task.workers) as pool:
        values = [(index, stream) for index, stream in numbered if stream.kinds == (VALUE,)]
        parts = list(pool.map(lambda pair: sums(*pair), values))
    return {"ts": ts, "sum": sum(parts, np.zeros(len(ts), np.int64))}


QUERIES = {"event_window": event_window}


class SumsByStream(BatchEngine):
    """Computes event windows by prefix sums, with a thread for each worker."""

    name = "sums-by-stream"
    packages = ("sums-by-stream", "numpy")
    queries = QUERIES
    max_workers = None

    def refused(self, task: Task) -> str | None:
        """Return the reason if a stream has both values and barriers."""
        mixed = [stream.name for stream in task.dataset.streams if len(stream.kinds) > 1]
        return f"stream {mixed[0]} has both values and barriers" if mixed else None
