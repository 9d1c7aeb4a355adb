"""Steady rates: the rows of a logical stream are dealt to physical ones, evenly spaced in time.

Event time is in milliseconds. Tuple g of a logical stream of `rate_eps` tuples a second is at
floor(1000 g / rate_eps), and goes to physical stream g modulo their number: several streams, and
rates that do not divide a millisecond, tie in time.
"""

import numpy as np
import numpy.typing as npt

MS_PER_S = 1000


def shares_of(events: int, rates: tuple[int, ...]) -> tuple[int, ...]:
    """Split a number of events over logical streams in proportion to their rates.

    Returns:
        Their numbers, which sum up to `events`; each within 1 of its exact share.
    """
    total, before, found = sum(rates), 0, []
    for index in range(len(rates)):
        upto = -(-events * sum(rates[: index + 1]) // total)
        found.append(upto - before)
        before = upto
    return tuple(found)


def rows_of(tuples: int, stream: int, streams: int) -> int:
    """Return how many of the first `tuples` tuples go to physical stream `stream`."""
    return max(0, -(-(tuples - stream) // streams))


def steady_ms(
    begin: int, end: int, stream: int, streams: int, rate_eps: int
) -> npt.NDArray[np.int64]:
    """Return the event times of rows [begin, end) of physical stream `stream`, in ms."""
    tuples = np.arange(begin, end, dtype=np.int64) * streams + stream
    return tuples * MS_PER_S // rate_eps
