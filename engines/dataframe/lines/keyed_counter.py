"""Keyed counters: for each increment the next reset of its key, by binary search, and a count."""

import numpy as np

from streamlab.engines.dataframe.markers import Part, keys, markers
from streamlab.engines.dataframe.streams import Streams


def answer(streams: Streams) -> list[Part]:
    """Return one count per reset."""
    resets = markers(streams)
    counts = np.zeros(len(resets), np.int64)
    for src, stream in streams.bulk:
        if not len(stream) or not len(resets):
            continue
        last = resets.ts - (resets.src < src)
        first = min(int(last[0]), int(stream.ts[0]))
        span = max(int(last[-1]), int(stream.ts[-1])) - first + 1
        # Key first, then time: the next reset of an increment's key is just above it.
        place = resets.key * span + (last - first)
        order = np.argsort(place, kind="stable")
        key = keys(streams, stream).astype(np.int64)
        after = np.searchsorted(place[order], key * span + (stream.ts - first))
        inside = np.flatnonzero(after < len(order))
        found = order[after[inside]]
        found = found[resets.key[found] == key[inside]]
        counts += np.bincount(found, minlength=len(resets))
    return [{"ts": resets.ts, "key": resets.key, "count": counts, "src": resets.src}]
