"""Computes the expected counts: assigns every increment to the next read-reset of its key."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.model import Columns, Input


def oracle(data: Input) -> Columns:
    """Return (ts, key, count) for every read-reset, in total order."""
    events = total_order(data, np.dtype([]))
    position = np.arange(len(events.ts), dtype=np.int64)
    # Sorted by key, then by position, so that an increment's next read-reset is just above it.
    place = events.key * np.int64(len(position)) + position
    is_reset = events.kind == data.alphabet.kinds.index("read_reset")
    resets = np.flatnonzero(is_reset)
    by_place = np.argsort(place[resets])
    sorted_resets = resets[by_place]
    increments = np.flatnonzero(~is_reset)
    following = np.searchsorted(place[sorted_resets], place[increments])
    in_range = following < len(resets)
    following, increments = following[in_range], increments[in_range]
    same_key = events.key[sorted_resets[following]] == events.key[increments]
    counts = np.empty(len(resets), dtype=np.int64)
    counts[by_place] = np.bincount(following[same_key], minlength=len(resets))
    return {"ts": events.ts[resets], "key": events.key[resets], "count": counts}
