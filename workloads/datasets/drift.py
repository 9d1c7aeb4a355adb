"""Generates input whose rates drift: streams fall asleep and wake up, and the hot key changes.

It tests plans that change while they run (docs/decisions/0030-adaptive-plans.md). A placement by the rates of the
complete input is unbalanced in most eras.
"""

from itertools import combinations

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model import Parameter, Params

IntArray = npt.NDArray[np.int64]

AWAKE = Parameter(
    default=0,
    help="length of an era in ticks: in each era another pair of ordinary streams has an event per tick, and all "
    "others have none; synchronizing events have the same distance; 0: all streams have an event per tick",
    minimum=0,
    maximum=2**31,
)
"""Parameter `drift` of workloads whose streams are idle in some eras."""


def era_of(params: Params) -> int:
    """Return the length of an era in ticks; 0 means a single era. Two streams always have a single era."""
    return int(params["drift"]) if int(params["streams"]) > 2 else 0


def _eras(streams: int, stream: int) -> IntArray:
    """Return the eras of a cycle in which a stream is awake; all pairs of streams take turns."""
    pairs = combinations(range(streams), 2)
    return np.array([era for era, pair in enumerate(pairs) if stream in pair], dtype=np.int64)


def awake_ticks(begin: int, end: int, streams: int, stream: int, era: int) -> IntArray:
    """Return the event times of rows [begin, end) of one of at least 3 streams, awake in some eras only.

    In each era two of the streams have an event each tick and the others none; all pairs take turns. So all streams
    have equally many events. No placement of three or more streams keeps two workers busy in all eras.
    """
    row = np.arange(begin, end, dtype=np.int64)
    awake = _eras(streams, stream)
    cycle, turn = np.divmod(row // era, len(awake))
    return (cycle * (streams * (streams - 1) // 2) + awake[turn]) * era + row % era


def awake_span(rows: int, streams: int, era: int) -> int:
    """Return the number of ticks until every stream has had `rows` rows."""
    if rows == 0:
        return 0
    last = (awake_ticks(rows - 1, rows, streams, stream, era)[0] for stream in range(streams))
    return int(max(last)) + 1


def shift_keys(key: IntArray, begin: int, keys: int, era: int) -> IntArray:
    """Return the keys of rows from `begin` on, each shifted by the number of its era; an era has `era` rows.

    So the hottest key moves to the next key in each era.
    """
    row = np.arange(begin, begin + len(key), dtype=np.int64)
    return (key + row // era) % keys
