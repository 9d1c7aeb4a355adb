"""Finds the sessions of users and the most frequent items so far by sorting and counting, for oracles."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest

import numpy as np

from streamlab.workloads.inputs.retail.ranking import RANKED
from streamlab.workloads.inputs.retail.scale import Ints
from streamlab.workloads.model import Columns
from streamlab.workloads.model.streams.records import rows_to_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """The clicks of closed sessions, by session, then in input order.

    A session is closed by the user's next click, if that comes more than the gap later. The last session of
    a user stays open.

    Attributes:
        row: row of the click in the input.
        session: number of its session, arbitrary but unique.
        closed_by: row of the click that closed the session.
    """

    row: Ints
    session: Ints
    closed_by: Ints


def closed_sessions(user: Ints, ts: Ints, gap_ms: int) -> Sessions:
    """Return the closed sessions of clicks that are in time order."""
    row = np.argsort(user, kind="stable").astype(np.int64)
    user, ts = user[row], ts[row]
    begins = np.ones(len(row), dtype=np.bool_)
    begins[1:] = (user[1:] != user[:-1]) | (ts[1:] - ts[:-1] > gap_ms)
    session = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    closed_by = np.full(len(first), -1, dtype=np.int64)
    has_next = np.flatnonzero(user[first[1:]] == user[first[:-1]])
    closed_by[has_next] = row[first[1:]][has_next]
    ended = closed_by[session] >= 0
    return Sessions(row=row[ended], session=session[ended], closed_by=closed_by[session][ended])


def lists_so_far(pairs: Iterable[tuple[int, int]], *, item: int, top: int, hour_ms: int) -> Columns:
    """Return each hour's list of the `top` most frequent pairs of `item` so far.

    Returns (ts, since, rank, item_1, item_2, count), by hour, then rank; `pairs` are (time, other item) in time
    order. A list has the time of the first pair in a later hour. The last hour has no list.
    """
    rows, counts, hour = [], Counter[int](), None
    for ts, other in pairs:
        if hour is not None and ts // hour_ms != hour:
            best = nsmallest(top, counts.items(), key=lambda pair: (-pair[1], pair[0]))
            for rank, (ranked, count) in enumerate(best, start=1):
                rows.append((ts, hour * hour_ms, rank, item, ranked, count))
        hour = ts // hour_ms
        counts[other] += 1
    return rows_to_columns(rows, RANKED)
