"""Counts the tweets with each word over sliding windows, by an aggregate A+ (STRETCH, Operator 14).

`keys` (f_MK) gives the set of a tweet's words, so repeated words count once. With `bag` they count each
time, as in the paper's Flink program (Algorithm 11).
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.tweets.schema import TWEET
from streamlab.workloads.model.operators.program import Operator, Query, Window

OUTPUT = np.dtype([("ts", np.int64), ("word", np.int32), ("count", np.int64)])


def keys(t: Any, out: Any) -> None:
    """Add the words of a tweet as keys."""
    for word in t.words:
        out.add(word)


def update(w: Any, t: Any, out: Any) -> None:
    """Count the tweet."""
    w[0].count += 1


def expire(w: Any, out: Any) -> None:
    """Emit the word and its count."""
    out.emit(w[0].key, w[0].count)


def program(wa_ms: int, ws_ms: int, *, bag: bool = False) -> Query:
    """Return the query for a window advance and size."""
    counting = Operator(
        name="wordcount",
        inputs=(TWEET,),
        window=Window(advance=wa_ms, size=ws_ms),
        output=OUTPUT,
        state=np.dtype([("count", np.int64)]),
        keys=keys,
        update=update,
        expire=expire,
        bag=bag,
    )
    return Query(name="wordcount", operators=(counting,))
