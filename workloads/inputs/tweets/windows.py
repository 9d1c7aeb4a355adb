"""Reduces sliding windows over keys by plain expansion and sorting, for oracles.

Shares no code with engines: it lists all windows that hold a tweet and reduces each window separately.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.total_order import Sequence, final_watermark, total_order
from streamlab.workloads.inputs.tweets.schema import TWEET
from streamlab.workloads.model import Input, ListColumn

Ints = npt.NDArray[np.int64]

BATCH_TWEETS = 1 << 16
"""Tweets expanded at a time. Bounds the memory, apart from the distinct keys of a window."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Values of windows and keys: three columns of equal length.

    Attributes:
        right: the right boundary of the window, in ms.
        key: the key.
        value: the reduced value of the key in the window.
    """

    right: Ints
    key: Ints
    value: Ints


def tweets_of(data: Input) -> Sequence:
    """Return all tweets in total order."""
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

    A window [n WA, n WA + WS) is expired if its right boundary is at most the final watermark. This is
    the time of the last tweet or, in a truncated input, the last instant before the cut.

    Args:
        data: the input.
        ts: the times of its tweets in ms, ascending.
        advance: WA in ms.
        size: WS in ms.
        keys: `keys(begin, end)` returns the keys of each of these tweets.
        value: a tweet's value for each of its keys; None stands for 1, so that `np.add` counts.
        reduce: `np.add` or `np.maximum`.
    """
    nothing = np.empty(0, dtype=np.int64)
    parts = [Cells(nothing, nothing, nothing)]
    if len(ts):
        watermark = final_watermark(data, ts)
        left = _lefts(ts, advance, size)
        left = left[left + size <= watermark]
        begin, end = np.searchsorted(ts, left), np.searchsorted(ts, left + size)
        next_window = 0
        while next_window < len(left):
            reached = np.searchsorted(end, begin[next_window] + BATCH_TWEETS, side="right")
            batch = slice(next_window, max(next_window + 1, int(reached)))
            right, first, last = left[batch] + size, begin[batch], end[batch]
            if len(right) == 1:
                span = int(right[0]), int(first[0]), int(last[0])
                parts.append(_reduce_one(*span, keys, value, reduce))
            else:
                parts.append(_reduce_many(right, first, last, keys, value, reduce))
            next_window = batch.stop
    return _concatenate(parts)


def _lefts(ts: Ints, advance: int, size: int) -> Ints:
    """Return the left boundaries of windows that hold at least one of the times, ascending."""
    newest = ts // advance
    windows = np.empty(0, dtype=np.int64)
    for windows_back in range(-(-size // advance)):
        window = newest - windows_back
        windows = np.union1d(windows, window[window * advance + size > ts])
    return windows * advance


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
        tweet_keys = keys(start, stop).packed()
        if value is None:
            key, count = np.unique(tweet_keys.values, return_counts=True)
            parts.append(Cells(np.full(len(key), right), key, count))
        else:
            values = np.repeat(value[start:stop], np.diff(tweet_keys.offsets))
            window = np.full(len(values), right)
            parts.append(_reduce_cells(Cells(window, tweet_keys.values, values), reduce))
    return parts[0] if len(parts) == 1 else _reduce_cells(_concatenate(parts), reduce)


def _reduce_many(
    right: Ints,
    begin: Ints,
    end: Ints,
    keys: Callable[[int, int], ListColumn],
    value: npt.NDArray[Any] | None,
    reduce: np.ufunc,
) -> Cells:
    """Reduce several windows, with tweets [begin, end) each, by expanding all (window, key)."""
    start, stop = int(begin[0]), int(end[-1])
    tweet_keys = keys(start, stop).packed()
    first, last = tweet_keys.offsets[begin - start], tweet_keys.offsets[end - start]
    place = ranges(first, last)
    window = np.repeat(right, last - first)
    if value is None:
        values = np.ones(len(place), dtype=np.int64)
    else:
        values = np.repeat(value[start:stop], np.diff(tweet_keys.offsets))[place]
    return _reduce_cells(Cells(window, tweet_keys.values[place], values), reduce)


def _reduce_cells(cells: Cells, reduce: np.ufunc) -> Cells:
    """Sort by window, then key, and reduce the values of equal pairs."""
    order = np.lexsort((cells.key, cells.right))
    right, key = cells.right[order], cells.key[order]
    begins_cell = np.ones(len(key), dtype=np.bool_)
    begins_cell[1:] = (key[1:] != key[:-1]) | (right[1:] != right[:-1])
    starts = np.flatnonzero(begins_cell)
    value = reduce.reduceat(cells.value[order], starts) if len(starts) else cells.value
    return Cells(right[starts], key[starts], value)


def _concatenate(parts: list[Cells]) -> Cells:
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
    """Return the distinct values of each list, ascending."""
    lists = lists.packed()
    row = np.repeat(np.arange(len(lists)), np.diff(lists.offsets))
    distinct, dense = np.unique(lists.values, return_inverse=True)
    rows, values = np.divmod(_distinct(row * len(distinct) + dense), max(len(distinct), 1))
    offsets = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=len(lists)), out=offsets[1:])
    return ListColumn(offsets, distinct[values])


def _distinct(values: Ints) -> Ints:
    """Return the distinct values (0 or more), ascending; many times faster than `np.unique`."""
    values = np.sort(values)
    distinct: Ints = values[np.diff(values, prepend=-1) != 0]
    return distinct
