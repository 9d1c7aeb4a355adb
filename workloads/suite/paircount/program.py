"""Counts the tweets with each pair of nearby words over windows, by an aggregate A+ (STRETCH, Operator 14).

A pair is (W[i], W[j]) with i < j and j - i at most the distance. `keys` (f_MK) gives a set, so repeated
pairs of a tweet count once. With `bag` they count each time, as in the paper's Algorithm 13.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.tweets.schema import TWEET
from streamlab.workloads.model.operators.program import Operator, Query, Window

OUTPUT = np.dtype([("ts", np.int64), ("pair", np.int64), ("count", np.int64)])
"""`pair` is the first word's id times 2^32, plus the second word's id."""

FIRST = 1 << 32
"""Factor of the first word's id in `pair`."""


def update(w: Any, t: Any, out: Any) -> None:
    """Count the tweet."""
    w[0].count += 1


def expire(w: Any, out: Any) -> None:
    """Emit the pair and its count."""
    out.emit(w[0].key, w[0].count)


def program(wa_ms: int, ws_ms: int, distance: int, *, bag: bool = False) -> Query:
    """Return the query for a window advance and size, and a distance (0 means unbounded)."""
    farthest = distance if distance > 0 else 1 << 31

    def keys(t: Any, out: Any) -> None:
        count = len(t.words)
        for i in range(count):
            for j in range(i + 1, min(count, i + farthest + 1)):
                out.add(t.words[i] * FIRST + t.words[j])

    counting = Operator(
        name="paircount",
        inputs=(TWEET,),
        window=Window(advance=wa_ms, size=ws_ms),
        output=OUTPUT,
        state=np.dtype([("count", np.int64)]),
        keys=keys,
        update=update,
        expire=expire,
        bag=bag,
    )
    return Query(name="paircount", operators=(counting,))
