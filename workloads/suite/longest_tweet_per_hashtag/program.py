"""Finds the length of each hashtag's longest tweet: STRETCH's running example (Operator 9)."""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.tweets.schema import TWEET
from streamlab.workloads.model.operators.program import Operator, Query, Window

OUTPUT = np.dtype([("ts", np.int64), ("hashtag", np.int32), ("chars", np.int32)])


def keys(t: Any, out: Any) -> None:
    """Add the hashtags of a tweet as keys."""
    for hashtag in t.hashtags:
        out.add(hashtag)


def update(w: Any, t: Any, out: Any) -> None:
    """Store the tweet's length if it is the greatest so far."""
    if t.chars > w[0].chars:
        w[0].chars = t.chars


def expire(w: Any, out: Any) -> None:
    """Emit the hashtag and the length."""
    out.emit(w[0].key, w[0].chars)


def program(wa_ms: int, ws_ms: int) -> Query:
    """Return the query for a window advance and size."""
    longest = Operator(
        name="longest",
        inputs=(TWEET,),
        window=Window(advance=wa_ms, size=ws_ms),
        output=OUTPUT,
        state=np.dtype([("chars", np.int32)]),
        keys=keys,
        update=update,
        expire=expire,
    )
    return Query(name="longest_tweet_per_hashtag", operators=(longest,))
