"""Assigns a logical stream's tuples to physical streams: tuple g goes to stream g modulo their number."""

import numpy as np
import numpy.typing as npt


def shares_of(events: int, rates: tuple[int, ...]) -> tuple[int, ...]:
    """Split a number of events over logical streams in proportion to their rates.

    Returns:
        Counts that sum up to `events`, each within 1 of its exact share.
    """
    total, before, counts = sum(rates), 0, []
    for index in range(len(rates)):
        upto = -(-events * sum(rates[: index + 1]) // total)
        counts.append(upto - before)
        before = upto
    return tuple(counts)


def rows_of(tuples: int, stream: int, streams: int) -> int:
    """Return how many of the first `tuples` tuples go to physical stream `stream`."""
    return max(0, -(-(tuples - stream) // streams))


def tuples_of(begin: int, end: int, stream: int, streams: int) -> npt.NDArray[np.int64]:
    """Return the logical stream's tuple numbers for rows [begin, end) of a physical stream."""
    return np.arange(begin, end, dtype=np.int64) * streams + stream
