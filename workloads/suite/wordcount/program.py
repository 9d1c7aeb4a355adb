"""How many tweets hold each word, over sliding windows: an A+ (STRETCH, Operator 14).

f_MK gives the *set* of a tweet's words, so that a word twice in a tweet counts once, unless a bag
is asked for: the Flink form of the paper (Algorithm 11) counts it twice.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.tweets.schema import TWEET
from streamlab.workloads.model.operators.program import Operator, Query, Window

OUTPUT = np.dtype([("ts", np.int64), ("word", np.int32), ("count", np.int64)])


def keys(t: Any, out: Any) -> None:
    """Give the words of a tweet."""
    for word in t.words:
        out.add(word)


def update(w: Any, t: Any, out: Any) -> None:
    """Count the tweet."""
    w[0].count += 1


def expire(w: Any, out: Any) -> None:
    """Forward the word and its count."""
    out.emit(w[0].key, w[0].count)


def program(wa_ms: int, ws_ms: int, *, bag: bool = False) -> Query:
    """Return the query for windows of this advance and size."""
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
