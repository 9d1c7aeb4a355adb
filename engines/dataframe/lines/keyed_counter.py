"""Computes keyed counters: finds the next reset of each increment's key by binary search, and counts."""

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
        # At equal times, events of earlier streams come first.
        last = resets.ts - (resets.src < src)
        first = min(int(last[0]), int(stream.ts[0]))
        span = max(int(last[-1]), int(stream.ts[-1])) - first + 1
        # Sorted by key, then time, the next reset of an increment's key comes directly after it.
        place = resets.key * span + (last - first)
        order = np.argsort(place, kind="stable")
        key = keys(streams, stream).astype(np.int64)
        after = np.searchsorted(place[order], key * span + (stream.ts - first))
        followed = np.flatnonzero(after < len(order))
        reset = order[after[followed]]
        reset = reset[resets.key[reset] == key[followed]]
        counts += np.bincount(reset, minlength=len(resets))
    return [{"ts": resets.ts, "key": resets.key, "count": counts, "src": resets.src}]
