"""What the oracles share: windows over sets of keys, by plain expansion and sorting.

Shares nothing with engines: windows come from all indices that any tweet falls in, and every window
is then reduced by itself. A tweet is looked at once for each window that it is in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.total_order import Sequence, total_order
from streamlab.workloads.inputs.tweets.schema import TWEET
from streamlab.workloads.model import Input, ListColumn

Ints = npt.NDArray[np.int64]

BATCH_TWEETS = 1 << 16
"""Tweets expanded at a time: bounds the memory, beside that for the different keys of a window."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Values of windows and keys: three columns of one length."""

    right: Ints
    key: Ints
    value: Ints


def tweets_of(data: Input) -> Sequence:
    """Return all tweets in order of time."""
    return total_order(data, TWEET.fields, dict(TWEET.lists))


def reduce_windows(
    data: Input,
    ts: Ints,
    advance: int,
    size: int,
    keys: Callable[[int, int], ListColumn],
    value: npt.NDArray[Any] | None = None,
    reduce: np.ufunc = np.add,
) -> Cells:
    """Return the reduced values of each key in each expired window, by window, then key.

    A window [n WA, n WA + WS) is expired when its right boundary is at most the time of the last
    tweet, or, for an input that is cut off, the last instant before the cut.

    Args:
        data: the input.
        ts: the times of its tweets, ascending.
        advance: WA.
        size: WS.
        keys: `keys(begin, end)`: the set of keys of each of these tweets.
        value: what each tweet brings to each of its keys; None: 1, so that `np.add` counts.
        reduce: how values are reduced, `np.add` or `np.maximum`.
    """
    nothing = np.empty(0, dtype=np.int64)
    parts = [Cells(nothing, nothing, nothing)]
    if len(ts):
        watermark = int(ts[-1]) if data.until_ts is None else data.until_ts - 1
        left = _lefts(ts, advance, size)
        left = left[left + size <= watermark]
        begin, end = np.searchsorted(ts, left), np.searchsorted(ts, left + size)
        done = 0
        while done < len(left):
            reached = np.searchsorted(end, begin[done] + BATCH_TWEETS, side="right")
            some = slice(done, max(done + 1, int(reached)))
            right, first, last = left[some] + size, begin[some], end[some]
            if len(right) == 1:
                span = int(right[0]), int(first[0]), int(last[0])
                parts.append(_reduce_one(*span, keys, value, reduce))
            else:
                parts.append(_reduce_many(right, first, last, keys, value, reduce))
            done = some.stop
    return _joined(parts)


def _lefts(ts: Ints, advance: int, size: int) -> Ints:
    """Return where the windows begin that hold at least one of the times, ascending."""
    newest = ts // advance
    found = np.empty(0, dtype=np.int64)
    for back in range(-(-size // advance)):
        window = newest - back
        found = np.union1d(found, window[window * advance + size > ts])
    return found * advance


def _reduce_one(
    right: int,
    begin: int,
    end: int,
    keys: Callable[[int, int], ListColumn],
    value: npt.NDArray[Any] | None,
    reduce: np.ufunc,
) -> Cells:
    """Reduce one window, with tweets [begin, end)."""
    parts = []
    for start in range(begin, end, BATCH_TWEETS):
        stop = min(start + BATCH_TWEETS, end)
        of_tweet = keys(start, stop).packed()
        if value is None:
            key, count = np.unique(of_tweet.values, return_counts=True)
            parts.append(Cells(np.full(len(key), right), key, count))
        else:
            carried = np.repeat(value[start:stop], np.diff(of_tweet.offsets))
            window = np.full(len(carried), right)
            parts.append(_reduced(Cells(window, of_tweet.values, carried), reduce))
    return parts[0] if len(parts) == 1 else _reduced(_joined(parts), reduce)


def _reduce_many(
    right: Ints,
    begin: Ints,
    end: Ints,
    keys: Callable[[int, int], ListColumn],
    value: npt.NDArray[Any] | None,
    reduce: np.ufunc,
) -> Cells:
    """Reduce windows with tweets [begin, end) each, few in all: every (window, key) is laid out."""
    start, stop = int(begin[0]), int(end[-1])
    of_tweet = keys(start, stop).packed()
    first, last = of_tweet.offsets[begin - start], of_tweet.offsets[end - start]
    place = ranges(first, last)
    window = np.repeat(right, last - first)
    if value is None:
        carried = np.ones(len(place), dtype=np.int64)
    else:
        carried = np.repeat(value[start:stop], np.diff(of_tweet.offsets))[place]
    return _reduced(Cells(window, of_tweet.values[place], carried), reduce)


def _reduced(cells: Cells, reduce: np.ufunc) -> Cells:
    """Sort by window, then key, and reduce what is equal in both."""
    order = np.lexsort((cells.key, cells.right))
    right, key = cells.right[order], cells.key[order]
    new = np.ones(len(key), dtype=np.bool_)
    new[1:] = (key[1:] != key[:-1]) | (right[1:] != right[:-1])
    starts = np.flatnonzero(new)
    value = reduce.reduceat(cells.value[order], starts) if len(starts) else cells.value
    return Cells(right[starts], key[starts], value)


def _joined(parts: list[Cells]) -> Cells:
    return Cells(
        np.concatenate([part.right for part in parts]),
        np.concatenate([part.key for part in parts]),
        np.concatenate([part.value for part in parts]),
    )


def ranges(begin: Ints, end: Ints) -> Ints:
    """Return begin[0], ..., end[0] - 1, begin[1], ..., one range after another."""
    lengths = end - begin
    starts = np.cumsum(lengths) - lengths
    spread: Ints = np.arange(int(lengths.sum())) + np.repeat(begin - starts, lengths)
    return spread


def as_sets(lists: ListColumn) -> ListColumn:
    """Return each list's different values, ascending."""
    lists = lists.packed()
    row = np.repeat(np.arange(len(lists)), np.diff(lists.offsets))
    different, dense = np.unique(lists.values, return_inverse=True)
    rows, values = np.divmod(_different(row * len(different) + dense), max(len(different), 1))
    offsets = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=len(lists)), out=offsets[1:])
    return ListColumn(offsets, different[values])


def _different(values: Ints) -> Ints:
    """Return the different values, ascending; NumPy's own way is many times slower here."""
    values = np.sort(values)
    found: Ints = values[np.diff(values, prepend=-1) != 0]
    return found
