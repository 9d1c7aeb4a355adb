"""Query 11 as an operator with a session of each bidder.

A session leaves once, at the first multiple of the gap that is more than a gap after the session's last bid.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.schema import BID, EVENT, fields
from streamlab.workloads.model import InputType, Operator, Query, Window
from streamlab.workloads.model.operators.program import SINGLE

OUTPUT = fields("ts", "bidder", "bids", "first", "last")

_SESSION = np.dtype(
    [
        ("bids", np.int64),
        ("first", np.int64),
        ("last", np.int64),
        ("closed_bids", np.int64),
        ("closed_first", np.int64),
        ("closed_last", np.int64),
    ]
)
"""The current session, and the previous session if a bid of this window closed it; a window closes at most one."""


def program(gap_ms: int) -> Query:
    """Return the query; a pause longer than `gap_ms` ends a session."""

    def update(w: Any, t: Any, out: Any) -> None:
        s = w[0]
        if s.bids and t.ts - s.last > gap_ms:
            s.closed_bids = s.bids
            s.closed_first = s.first
            s.closed_last = s.last
            s.bids = 0
        if s.bids == 0:
            s.first = t.ts
        s.last = t.ts
        s.bids += 1

    def expire(w: Any, out: Any) -> None:
        s = w[0]
        if s.closed_bids:
            out.emit(s.key, s.closed_bids, s.closed_first, s.closed_last)
        elif s.last + gap_ms < s.left + 2 * gap_ms:
            out.emit(s.key, s.bids, s.first, s.last)

    def slide(w: Any) -> None:
        s = w[0]
        s.closed_bids = 0
        s.closed_first = 0
        s.closed_last = 0
        if s.last < s.left:  # `left` has advanced by a gap
            s.bids = 0
            s.first = 0
            s.last = 0

    operator = Operator(
        name="sessions",
        inputs=(InputType(name=EVENT, fields=fields("type", "person")),),
        window=Window(advance=gap_ms, size=2 * gap_ms, type=SINGLE),
        output=OUTPUT,
        state=_SESSION,
        keys=_bidder,
        update=update,
        expire=expire,
        slide=slide,
    )
    return Query(name="nexmark_q11", operators=(operator,))


def _bidder(t: Any, out: Any) -> None:
    """Add the bidder of a bid as key."""
    if t.type == BID:
        out.add(t.person)
