"""Computes the event times of generated input: an event per tick on each stream, and periodic syncs.

Event time is counted in ticks. Row j of every ordinary stream is at tick j, so the streams tie
at every tick. Synchronizing row k is at the last tick of period k. It ties with the last ordinary
rows of its period and comes after them, because its stream is declared last.
"""

import numpy as np
import numpy.typing as npt


def rows_per_stream(events: int, streams: int, period: int) -> int:
    """Return the rows of each ordinary stream, so that all streams hold at least `events` events.

    The smallest n with `streams * n + n // period >= events`, which exceeds `events` by at most `streams`.
    """
    rows = max(events * period // (streams * period + 1), 0)
    while streams * rows + rows // period < events:
        rows += 1
    return rows


def ticks(begin: int, end: int) -> npt.NDArray[np.int64]:
    """Return the event times of ordinary rows [begin, end)."""
    return np.arange(begin, end, dtype=np.int64)


def sync_ticks(begin: int, end: int, period: int) -> npt.NDArray[np.int64]:
    """Return the event times of synchronizing rows [begin, end), one every `period` ticks."""
    return np.arange(begin + 1, end + 1, dtype=np.int64) * period - 1
