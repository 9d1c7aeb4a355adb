"""Builds the last operators of three queries: counts of pairs of items, and lists of the top pairs.

The operator stores only the best k pairs, and its list is always right. Counts only grow, so a pair that is
not in the list can enter it only with a new count, and the operator sees every new count.

Lists are ordered by count, descending, then by items.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.retail.schema import HOUR_MS
from streamlab.workloads.model import Parameter, Stage, partitioned, stateful

LIST_SO_FAR = {
    "top": Parameter(default=30, help="length of the list", minimum=1, maximum=1000),
    "hour_ms": Parameter(
        default=HOUR_MS,
        help="time between two lists (event time)",
        minimum=1,
        maximum=2**40,
    ),
}
"""Query parameters of lists since the beginning of the input."""

PAIR = np.dtype([("ts", np.int64), ("item_1", np.int32), ("item_2", np.int32)])

COUNTED = np.dtype(
    [("ts", np.int64), ("item_1", np.int32), ("item_2", np.int32), ("count", np.int64)]
)
"""A pair's new count: the input of `ranking`."""

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
"""One row of a list; `since` is the beginning of the list's hour."""


def counting(*, name: str) -> Stage:
    """Return an operator that counts pairs by second item and forwards every new count.

    Counts never start over. All pairs have the same first item.
    """

    def count(s: Any, t: Any, out: Any) -> None:
        s.count += 1
        out.emit(t.item_1, t.item_2, s.count)

    state = np.dtype([("count", np.int64)])
    return partitioned(name=name, output=COUNTED, key=_second, state=state, apply=count)


def _second(t: Any) -> int:
    second: int = t.item_2
    return second


def precedes(count: Any, item_1: Any, item_2: Any, other: Any, other_1: Any, other_2: Any) -> Any:
    """Return whether a pair precedes another pair in a list."""
    if count != other:
        return count > other
    if item_1 != other_1:
        return item_1 < other_1
    return item_2 < other_2


def ranking(*, name: str, top: int, more_than: int, every_ms: int, restart: bool) -> Stage:
    """Return an operator that forwards an hour's list at the first count of a later hour.

    The list of the last hour in the input is not forwarded.

    Args:
        name: name of the operator.
        top: maximum length of the list.
        more_than: counts up to this are not listed.
        every_ms: length of an hour.
        restart: whether the list starts empty every hour, for counts that start over.
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
        # A listed pair has a higher count than before, so it precedes the last pair.
        if s.n == top and not precedes(
            t.count, t.item_1, t.item_2, s.count[last], s.item_1[last], s.item_2[last]
        ):
            return
        place = 0
        while place < s.n and (s.item_1[place] != t.item_1 or s.item_2[place] != t.item_2):
            place += 1
        if place == s.n:
            if s.n == top:
                place = last
            else:
                s.n += 1
        while place > 0 and precedes(
            t.count,
            t.item_1,
            t.item_2,
            s.count[place - 1],
            s.item_1[place - 1],
            s.item_2[place - 1],
        ):
            s.item_1[place] = s.item_1[place - 1]
            s.item_2[place] = s.item_2[place - 1]
            s.count[place] = s.count[place - 1]
            place -= 1
        s.item_1[place] = t.item_1
        s.item_2[place] = t.item_2
        s.count[place] = t.count

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
