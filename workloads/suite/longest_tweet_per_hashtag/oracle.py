"""Computes the expected lengths of the longest tweets."""

import numpy as np

from streamlab.workloads.inputs.tweets.windows import reduce_windows, tweets_of
from streamlab.workloads.model import Columns, Input, ListColumn


def oracle(data: Input, wa_ms: int, ws_ms: int) -> Columns:
    """Return (ts, hashtag, chars) by window, then hashtag; ts is the window's right boundary."""
    tweets = tweets_of(data)
    hashtags = tweets.lists["hashtags"]

    def keys(begin: int, end: int) -> ListColumn:
        return hashtags[begin:end]  # repeated hashtags do not change a maximum

    chars = tweets.payload["chars"]
    longest = reduce_windows(data, tweets.ts, wa_ms, ws_ms, keys, chars, np.maximum)
    return {
        "ts": longest.right,
        "hashtag": longest.key.astype(np.int32),
        "chars": longest.value.astype(np.int32),
    }
