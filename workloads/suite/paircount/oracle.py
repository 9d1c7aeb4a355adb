"""Computes the expected counts of pairs of words."""

import numpy as np

from streamlab.workloads.inputs.tweets.windows import Ints, as_sets, reduce_windows, tweets_of
from streamlab.workloads.model import Columns, Input, ListColumn


def oracle(data: Input, wa_ms: int, ws_ms: int, distance: int, *, bag: bool = False) -> Columns:
    """Return (ts, pair, count) by window, then pair; ts is the window's right boundary."""
    tweets = tweets_of(data)
    words = tweets.lists["words"]

    def keys(begin: int, end: int) -> ListColumn:
        pairs_of = pairs if bag else sets_of_pairs
        return pairs_of(words[begin:end], distance)

    counts = reduce_windows(data, tweets.ts, wa_ms, ws_ms, keys)
    return {"ts": counts.right, "pair": counts.key, "count": counts.value}


def sets_of_pairs(words: ListColumn, distance: int) -> ListColumn:
    """Return the distinct pairs of each tweet, in any order.

    Only tweets with a repeated word can have repeated pairs; other tweets need no sorting.
    """
    repeats = np.diff(as_sets(words).offsets) < np.diff(words.offsets)
    plain, repeating = np.flatnonzero(~repeats), np.flatnonzero(repeats)
    sets = ListColumn.concatenate(
        [pairs(words.take(plain), distance), as_sets(pairs(words.take(repeating), distance))]
    )
    return sets.take(np.argsort(np.concatenate([plain, repeating])))


def pairs(words: ListColumn, distance: int) -> ListColumn:
    """Return the pairs of each tweet: pairs at distance 1, then at distance 2, and so on."""
    words = words.packed()
    count = np.diff(words.offsets)
    farthest = int(count.max(initial=1)) - 1
    if distance:
        farthest = min(farthest, distance)
    offsets = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum(sum((_pairs(count, d) for d in range(1, farthest + 1)), 0 * count), out=offsets[1:])
    values = np.empty(offsets[-1], dtype=np.int64)
    place = np.arange(len(words.values)) - np.repeat(words.offsets[:-1], count)
    length, target = np.repeat(count, count), np.repeat(offsets[:-1], count)
    for d in range(1, farthest + 1):
        first = np.flatnonzero(place + d < length)
        pair = words.values[first].astype(np.int64) << 32 | words.values[first + d]
        values[target[first] + place[first]] = pair
        target += np.repeat(_pairs(count, d), count)
    return ListColumn(offsets, values)


def _pairs(count: Ints, distance: int) -> Ints:
    """Return the number of pairs at this distance in lists of `count` words."""
    pairs: Ints = np.maximum(count - distance, 0)
    return pairs
