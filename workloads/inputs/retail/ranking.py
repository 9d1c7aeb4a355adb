"""The last operators of three queries: pairs of items, and those that were counted most often.

Counts of a pair only grow, and every new count reaches the operator. So the list of the best k at
any time is right although the others are forgotten: a pair that belongs to the best k came, with
its latest count, when at most k - 1 pairs were ahead of it, and none that was then behind passed it
without coming itself. A list is in order of counts, the highest first, then of items.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.retail.schema import HOUR_MS
from streamlab.workloads.model import Parameter, Stage, partitioned, stateful

LIST_SO_FAR = {
    "top": Parameter(default=30, help="length of the list", minimum=1, maximum=1000),
    "hour_ms": Parameter(
        default=HOUR_MS,
        help="the list is forwarded so often (event time)",
        minimum=1,
        maximum=2**40,
    ),
}
"""Query parameters of the lists of everything so far."""

PAIR = np.dtype([("ts", np.int64), ("item_1", np.int32), ("item_2", np.int32)])

COUNTED = np.dtype(
    [("ts", np.int64), ("item_1", np.int32), ("item_2", np.int32), ("count", np.int64)]
)
"""What the operator before forwards: a pair's new count."""

RANKED = np.dtype(
    [
        ("ts", np.int64),
        ("since", np.int64),
        ("rank", np.int32),
        ("item_1", np.int32),
        ("item_2", np.int32),
        ("count", np.int64),
    ]
)
"""A place of a list; `since` is when the hour began that the list was made in."""


def counting(*, name: str) -> Stage:
    """Return an operator that counts pairs by their second item, since the beginning.

    It forwards every new count. All pairs have the same first item.
    """

    def count(s: Any, t: Any, out: Any) -> None:
        s.count += 1
        out.emit(t.item_1, t.item_2, s.count)

    state = np.dtype([("count", np.int64)])
    return partitioned(name=name, output=COUNTED, key=_second, state=state, apply=count)


def _second(t: Any) -> int:
    second: int = t.item_2
    return second


def before(count: Any, item_1: Any, item_2: Any, other: Any, other_1: Any, other_2: Any) -> Any:
    """Return whether a pair comes before another one in a list."""
    if count != other:
        return count > other
    if item_1 != other_1:
        return item_1 < other_1
    return item_2 < other_2


def ranking(*, name: str, top: int, more_than: int, every_ms: int, restart: bool) -> Stage:
    """Return an operator that forwards the list of an hour when the first count of a later comes.

    The list of the last hour in the input is not forwarded.

    Args:
        name: how messages call it.
        top: length of the list, if so many pairs were counted often enough.
        more_than: counts up to this are not listed.
        every_ms: the length of an hour.
        restart: whether every hour begins with an empty list, because counts start over; otherwise
            counts are those since the beginning.
    """
    last = top - 1

    def rank(s: Any, t: Any, out: Any) -> None:
        hour = t.ts // every_ms
        if hour != s.hour:
            for k in range(s.n):
                out.emit(s.hour * every_ms, k + 1, s.item_1[k], s.item_2[k], s.count[k])
            if restart:
                s.n = 0
            s.hour = hour
        if t.count <= more_than:
            return
        # A pair that is listed has more than it had, and so comes before the last.
        if s.n == top and not before(
            t.count, t.item_1, t.item_2, s.count[last], s.item_1[last], s.item_2[last]
        ):
            return
        at = 0
        while at < s.n and (s.item_1[at] != t.item_1 or s.item_2[at] != t.item_2):
            at += 1
        if at == s.n:
            if s.n == top:
                at = last
            else:
                s.n += 1
        while at > 0 and before(
            t.count, t.item_1, t.item_2, s.count[at - 1], s.item_1[at - 1], s.item_2[at - 1]
        ):
            s.item_1[at] = s.item_1[at - 1]
            s.item_2[at] = s.item_2[at - 1]
            s.count[at] = s.count[at - 1]
            at -= 1
        s.item_1[at] = t.item_1
        s.item_2[at] = t.item_2
        s.count[at] = t.count

    state = np.dtype(
        [
            ("hour", np.int64),
            ("n", np.int32),
            ("item_1", np.int32, (top,)),
            ("item_2", np.int32, (top,)),
            ("count", np.int64, (top,)),
        ]
    )
    return stateful(name=name, output=RANKED, state=state, apply=rank, max_outputs=top)
