"""Computes the expected word counts."""

import numpy as np

from streamlab.workloads.inputs.tweets.windows import as_sets, reduce_windows, tweets_of
from streamlab.workloads.model import Columns, Input, ListColumn


def oracle(data: Input, wa_ms: int, ws_ms: int, *, bag: bool = False) -> Columns:
    """Return (ts, word, count) by window, then word; ts is the window's right boundary."""
    tweets = tweets_of(data)
    words = tweets.lists["words"]

    def keys(begin: int, end: int) -> ListColumn:
        return words[begin:end] if bag else as_sets(words[begin:end])

    counts = reduce_windows(data, tweets.ts, wa_ms, ws_ms, keys)
    return {"ts": counts.right, "word": counts.key.astype(np.int32), "count": counts.value}
